"""Power caps that a killed program left behind: put back before a session measures, with a warning."""

from __future__ import annotations

import warnings
from typing import Any

from joulemap import _core


def _told(restored: dict[str, Any]) -> str:
    lease, fault, index = restored["lease"], restored["fault"], restored["index"]
    gpu = f"GPU {index}" if index >= 0 else restored["uuid"]
    if fault and lease["found_w"]:
        return f"{gpu} is still to be put back to {lease['found_w']:g} W, which {lease['who']} had found: {fault}"
    if fault:
        return f"a power cap may have been left on {gpu}: {fault}"
    who = f"{lease['who']} (pid {lease['process_id']})" if lease["process_id"] else lease["who"]
    return f"put {gpu} back to {lease['found_w']:g} W: {who} was killed together with what should have done it"


def put_back(stacklevel: int) -> None:
    """Put back what lost leases of power caps found, and warn of each; with none it is one look at a folder."""
    try:
        lost = _core.cap_restore()
    except _core.Error as error:
        warnings.warn(str(error), RuntimeWarning, stacklevel=stacklevel + 1)
        return
    for restored in lost:
        warnings.warn(_told(restored), RuntimeWarning, stacklevel=stacklevel + 1)
