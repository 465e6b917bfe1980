"""Power caps of a program: each is a lease until the program ends."""

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
_ENDED = ("NOT_FOUND", "DEVICE_LOST")  # the lease has ended (after a reset, or its helper died) and the cap is restored


def held(gpu: int) -> Lease | None:
    """Return the lease of this program on a GPU."""
    with _lock:
        return _held.get(gpu)


def set_power_cap(gpu_num: int, cap: float) -> None:
    """Set a GPU's power cap. The old cap is restored by `reset_power_cap`, and when the program ends or dies.

    Parameters
    ----------
    gpu_num : int
        CUDA index of the GPU; for a simulated GPU its index.
    cap : float
        Watts, in the GPU's range.

    Raises
    ------
    TypeError, ValueError
        If `cap` is no positive number.
    joulemap.Error
        If it is out of range, this user may not set caps (the message says how to get the right), another program has
        the lease, or there is no such GPU.
    """
    gpu = find_gpu(gpu_num).index
    with _lock:
        own = _held.get(gpu)
        if own is not None:
            try:
                own.set(cap)
                return
            except _core.Error as error:
                if error.status not in _ENDED:
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
    """Restore the cap that `set_power_cap` found; does nothing if it set none.

    Parameters
    ----------
    gpu_num : int
        CUDA index of the GPU; for a simulated GPU its index.

    Raises
    ------
    joulemap.Error
        If the cap could not be restored, or there is no such GPU.
    """
    gpu = find_gpu(gpu_num).index
    with _lock:
        own = _held.pop(gpu, None)
    if own is not None:
        own.end()


@atexit.register
def _end_all() -> None:
    """Restore all caps and wait: the helpers would do that too, but could not report a failure."""
    with _lock:
        leases = list(_held.values())
        _held.clear()
    for own in leases:
        try:
            own.end()
        except _core.Error as error:
            warnings.warn(str(error), RuntimeWarning, stacklevel=1)
