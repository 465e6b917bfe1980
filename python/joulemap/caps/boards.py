"""The power caps of this machine's GPUs as they stand, and leases whose holder and helper have gone."""

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
        Who holds it, in words.
    process_id, user_id : int
        Of the holder; process 0: none holds it, it stands until it is reset.
    since_unix_ns, until_unix_ns : int or None
        When it was taken, and when it ends by itself, ns; None: it does not.
    found_w, cap_w : float or None
        What is put back at its end, W, and what was set last; None: nothing yet.
    lost : bool
        Its helper has died: what it found is still to be put back.
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
    """A GPU's power cap. Watts are None where the driver does not give them.

    Attributes
    ----------
    index : int
        The GPU's, as nvidia-smi counts.
    uuid, name : str
        "GPU-...", "NVIDIA H200".
    simulated : bool
        True for the simulated GPU.
    cap_w, enforced_w : float or None
        As set, and what the GPU keeps to: other limits of the machine may be lower.
    default_w, low_w, high_w : float or None
        The maker's setting, and the range of what can be set.
    may_set, may_not_set : str
        How this process may set it, or why not and how to get the right; one of them is "".
    lease : LeaseInfo or None
        Who holds the GPU's cap.
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
    """A lost lease: put back, or why not.

    Attributes
    ----------
    uuid : str
        The GPU's.
    index : int
        As nvidia-smi counts; -1: it is not there.
    lease : LeaseInfo
        What had been set by whom.
    left_w : float or None
        The cap in W that somebody else had set since, and that was left; None: what was found is back.
    fault : str
        "" if it is done; else why not, and the cure.
    """

    uuid: str
    index: int
    lease: LeaseInfo
    left_w: float | None
    fault: str


def cap_board(fields: dict[str, Any]) -> CapBoard:
    """Return what the core tells of a board."""
    lease = fields.pop("lease")
    return CapBoard(**fields, lease=None if lease is None else LeaseInfo(**lease))


def show(sim: str | None = None) -> list[CapBoard]:
    """Return the GPUs of this machine with their power caps. Sets nothing.

    Parameters
    ----------
    sim : str, optional
        Profile of the simulated GPU ("h200"); without it JOULEMAP_SIM decides, else the real ones.

    Returns
    -------
    list of CapBoard
        One a GPU, watts in names.

    Raises
    ------
    TypeError
        If `sim` is no text.
    joulemap.Error
        If no GPU can be asked.
    """
    if sim is not None:
        sim = _arguments.text("sim", sim)
    return [cap_board(fields) for fields in _core.cap_boards(sim)]


def restore() -> list[Restored]:
    """Put back what lost leases had found: after a power cut, or where holder and helper were killed at once.

    Every use of joulemap that looks at GPUs does it by itself; this says what was put back.

    Returns
    -------
    list of Restored
        One a lost lease. What could not be put back is no error: its `fault` says why.

    Raises
    ------
    joulemap.Error
        If it cannot look for them.
    """
    return [Restored(**{**fields, "lease": LeaseInfo(**fields["lease"])}) for fields in _core.cap_restore()]
