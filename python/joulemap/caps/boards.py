"""The present power caps of this machine's GPUs, and lost leases, whose holder and helper have died."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from joulemap import _arguments, _core


@dataclass(frozen=True, slots=True)
class LeaseInfo:
    """A lease on a GPU's cap.

    Attributes
    ----------
    who : str
        Name of the holder.
    process_id, user_id : int
        Process and user of the holder; process 0: the cap stays until it is reset.
    since_unix_ns, until_unix_ns : int or None
        Time at which it was taken, and at which it ends by itself, Unix ns; None: it does not.
    found_w, cap_w : float or None
        The cap that is restored at its end, and the cap that was set last, watts; None: nothing set yet.
    lost : bool
        Whether its helper has died, so that the old cap is still to be restored.
    """

    who: str
    process_id: int
    user_id: int
    since_unix_ns: int | None
    until_unix_ns: int | None
    found_w: float | None
    cap_w: float | None
    lost: bool


@dataclass(frozen=True, slots=True)
class CapBoard:
    """A GPU's power cap. Watts are None if the driver does not provide them.

    Attributes
    ----------
    index : int
        Index of the GPU in nvidia-smi.
    uuid, name : str
        "GPU-...", "NVIDIA H200".
    simulated : bool
        True for the simulated GPU.
    cap_w, enforced_w : float or None
        The cap, and the limit that the GPU enforces, watts: other limits of the machine may be lower.
    default_w, low_w, high_w : float or None
        The default cap, and the range of possible caps, watts.
    may_set, may_not_set : str
        How this process may set the cap, or why not and how to get the right; one of them is "".
    lease : LeaseInfo or None
        The lease on the cap, if there is one.
    """

    index: int
    uuid: str
    name: str
    simulated: bool
    cap_w: float | None
    enforced_w: float | None
    default_w: float | None
    low_w: float | None
    high_w: float | None
    may_set: str
    may_not_set: str
    lease: LeaseInfo | None


@dataclass(frozen=True, slots=True)
class Restored:
    """A lost lease whose cap was restored, or why it was not.

    Attributes
    ----------
    uuid : str
        UUID of the GPU.
    index : int
        Index in nvidia-smi; -1: the GPU is missing.
    lease : LeaseInfo
        The lost lease.
    left_w : float or None
        The cap, watts, that another program has set since and that was left; None: the old cap was restored.
    fault : str
        Why it could not be restored, and the cure; "" on success.
    """

    uuid: str
    index: int
    lease: LeaseInfo
    left_w: float | None
    fault: str


def cap_board(fields: dict[str, Any]) -> CapBoard:
    """Return a CapBoard from the fields of the core."""
    lease = fields.pop("lease")
    return CapBoard(**fields, lease=None if lease is None else LeaseInfo(**lease))


def show(sim: str | None = None) -> list[CapBoard]:
    """Return the GPUs of this machine with their power caps. This sets nothing.

    Parameters
    ----------
    sim : str, optional
        Profile of the simulated GPU ("h200"). Without it the profile of JOULEMAP_SIM, else the real GPUs.

    Returns
    -------
    list of CapBoard
        One per GPU, in watts.

    Raises
    ------
    TypeError
        If `sim` is no text.
    joulemap.Error
        If no GPU can be queried.
    """
    if sim is not None:
        sim = _arguments.text("sim", sim)
    return [cap_board(fields) for fields in _core.cap_boards(sim)]


def restore() -> list[Restored]:
    """Restore the caps of lost leases: after a power cut, or if holder and helper were killed at once.

    joulemap also does this whenever it opens GPUs; this function returns the result.

    Returns
    -------
    list of Restored
        One per lost lease. A cap that could not be restored is no error: `fault` says why.

    Raises
    ------
    joulemap.Error
        If lost leases cannot be searched.
    """
    return [Restored(**{**fields, "lease": LeaseInfo(**fields["lease"])}) for fields in _core.cap_restore()]
