"""Find a GPU by its index, and wait for its work."""

from __future__ import annotations

import sys
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
    """Wait for the work on all GPUs that this program's PyTorch uses, if it has been imported."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available() and torch.cuda.is_initialized():
        for device in range(torch.cuda.device_count()):
            torch.cuda.synchronize(device)
