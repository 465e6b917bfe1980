"""Find a GPU by its index, and wait for its work."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from joulemap import _core

if TYPE_CHECKING:
    from joulemap._machine import Board


def find_gpu(device_index: int) -> Board:
    """Return the present state of the GPU with this CUDA index; a GPU that CUDA does not see counts by its own index.

    Raises
    ------
    joulemap.NoDeviceError
        If there is no such GPU.
    """
    from joulemap._machine import boards

    gpus = [board for board in boards() if board.kind == "gpu"]
    for board in gpus:
        if device_index in (board.cuda_index, board.index if board.cuda_index < 0 else -1):
            return board
    raise _core.NoDeviceError(
        f"no board with index {device_index} ({len(gpus)} found): run `joulemap doctor` to see what is "
        "missing, or set JOULEMAP_SIM=h200 for the simulated board"
    )


def synchronize() -> None:
    """Wait for the work on all GPUs that this program's PyTorch and JAX use."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available() and torch.cuda.is_initialized():
        for device in range(torch.cuda.device_count()):
            torch.cuda.synchronize(device)
    _synchronize_jax()


def _synchronize_jax() -> None:
    """Wait for all arrays of JAX, if it has used a device: asking a device itself would start JAX's back end."""
    jax, bridge = sys.modules.get("jax"), sys.modules.get("jax._src.xla_bridge")
    is_used: Callable[[], bool] = getattr(bridge, "backends_are_initialized", lambda: False)
    with contextlib.suppress(Exception):  # of a computation: the program itself meets it where it uses the result
        if jax is not None and is_used():
            for array in jax.live_arrays():
                array.block_until_ready()
