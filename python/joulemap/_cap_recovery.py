"""Power caps that a killed program left behind: a new session restores the old ones, with a warning."""

from __future__ import annotations

import warnings
from typing import Any

from joulemap import _core


def _message(restored: dict[str, Any]) -> str:
    lease, fault, index = restored["lease"], restored["fault"], restored["index"]
    gpu = f"GPU {index}" if index >= 0 else restored["uuid"]
    if fault and lease["found_w"]:
        return f"{gpu} is still to be put back to {lease['found_w']:g} W, which {lease['who']} had found: {fault}"
    if fault:
        return f"a power cap may have been left on {gpu}: {fault}"
    who = f"{lease['who']} (pid {lease['process_id']})" if lease["process_id"] else lease["who"]
    return f"put {gpu} back to {lease['found_w']:g} W: {who} was killed together with what should have done it"


def restore(stacklevel: int) -> None:
    """Restore the caps of lost leases, with a warning for each. Without any, this only looks into a folder."""
    try:
        lost = _core.cap_restore()
    except _core.Error as error:
        warnings.warn(str(error), RuntimeWarning, stacklevel=stacklevel + 1)
        return
    for restored in lost:
        warnings.warn(_message(restored), RuntimeWarning, stacklevel=stacklevel + 1)
