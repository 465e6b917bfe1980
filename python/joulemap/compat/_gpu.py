"""What modules of older tools share: which GPU a CUDA index means, the session to measure in, waiting for GPUs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from joulemap import _core
from joulemap.machine import Board, boards
from joulemap.session import Session, current_session


def find_gpu(device_index: int) -> Board:
    """Return a GPU as it is now: CUDA's index of it; on the simulated board its own.

    Raises
    ------
    joulemap.NoDeviceError
        If there is no such GPU.
    """
    gpus = [board for board in boards() if board.backend == "nvml"]
    for board in gpus:
        if device_index in (board.cuda_index, board.index if board.cuda_index < 0 else -1):
            return board
    raise _core.NoDeviceError(
        f"no board with index {device_index} ({len(gpus)} found): run `joulemap doctor` to see what is "
        "missing, or set JOULEMAP_SIM=h200 for the simulated board"
    )


@contextmanager
def open_session(*, kernels: bool | Literal["auto"]) -> Iterator[Session]:
    """Give the process's open session, or one of our own for as long as it is needed."""
    session = current_session()
    if session is not None:
        yield session
        return
    with Session(kernels=kernels) as session:
        yield session


def synchronize() -> None:
    """Wait for what PyTorch has launched on all GPUs in use: what is measured must have ended."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available() and torch.cuda.is_initialized():
        for device in range(torch.cuda.device_count()):
            torch.cuda.synchronize(device)
