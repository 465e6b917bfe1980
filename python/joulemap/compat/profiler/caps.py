"""Caps that a program sets: each a lease that lasts as long as the program."""

from __future__ import annotations

import atexit
import warnings

from joulemap import _core
from joulemap._gpu import find_gpu
from joulemap._locks import Lock
from joulemap.caps import lease
from joulemap.caps.leases import Lease

_held: dict[int, Lease] = {}  # by index of the GPU
_lock = Lock()
_OVER = ("NOT_FOUND", "DEVICE_LOST")  # its time was up, somebody reset it, its helper died: what was found is back


def held(gpu: int) -> Lease | None:
    """Return the lease of this program on a GPU."""
    with _lock:
        return _held.get(gpu)


def set_power_cap(gpu_num: int, cap: float) -> None:
    """Set a GPU's power cap. What was found is put back by `reset_power_cap`, or when the program ends or dies.

    Parameters
    ----------
    gpu_num : int
        CUDA index of the GPU; on the simulated GPU its index.
    cap : float
        Watts, in the GPU's range.

    Raises
    ------
    TypeError, ValueError
        If `cap` is no number of watts.
    joulemap.Error
        If it is out of the range, there is no right to set it (how to get it is said), another program has the GPU's
        cap, or there is no such GPU.
    """
    gpu = find_gpu(gpu_num).index
    with _lock:
        own = _held.get(gpu)
        if own is not None:
            try:
                own.set(cap)
                return
            except _core.Error as error:
                if error.status not in _OVER:
                    raise
                del _held[gpu]
        taken = lease(gpu)
        try:
            taken.set(cap)
        except BaseException:
            taken.end()
            raise
        _held[gpu] = taken


def reset_power_cap(gpu_num: int) -> None:
    """Put back the cap that `set_power_cap` found; where it set nothing, there is nothing to put back.

    Parameters
    ----------
    gpu_num : int
        CUDA index of the GPU; on the simulated GPU its index.

    Raises
    ------
    joulemap.Error
        If it could not be put back, or there is no such GPU.
    """
    gpu = find_gpu(gpu_num).index
    with _lock:
        own = _held.pop(gpu, None)
    if own is not None:
        own.end()


@atexit.register
def _end_all() -> None:
    """Put all back and wait for it: the helpers would do it by themselves, but nobody would hear of a failure."""
    with _lock:
        leases = list(_held.values())
        _held.clear()
    for own in leases:
        try:
            own.end()
        except _core.Error as error:
            warnings.warn(str(error), RuntimeWarning, stacklevel=1)
