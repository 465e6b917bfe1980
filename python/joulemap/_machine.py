"""The boards of this machine, and the checks of `doctor`."""

from __future__ import annotations

from dataclasses import dataclass

from joulemap import _arguments, _core


@dataclass(frozen=True, slots=True)
class Board:
    """A GPU, or a CPU package or DRAM domain, of this machine.

    Attributes
    ----------
    backend, name, uuid, pci, driver, profile : str
        "nvml", "NVIDIA H200", ...; "" if unknown.
    kind : str
        "gpu", "cpu" (a package, its DRAM, a socket) or "meter" (a meter of the power that supplies the others).
    index, cuda_index : int
        The back end's index, and CUDA's index after CUDA_VISIBLE_DEVICES; -1 if there is none.
    power_limit_w : float or None
        Enforced power limit, watts; None if unknown.
    simulated : bool
        True for the simulated board.
    memory_total_bytes, memory_free_bytes : int or None
        Memory of a GPU, total and free at the time of the call; None if unknown.
    """

    backend: str
    kind: str
    name: str
    uuid: str
    pci: str
    driver: str
    profile: str
    index: int
    cuda_index: int
    power_limit_w: float | None
    simulated: bool
    memory_total_bytes: int | None
    memory_free_bytes: int | None


def boards(sim: str | None = None) -> list[Board]:
    """Return the boards of this machine. This starts no process and loads no CUDA library.

    Parameters
    ----------
    sim : str, optional
        Profile of the simulated board ("h200"). Without it the profile of JOULEMAP_SIM, else the real boards.

    Returns
    -------
    list of Board
        GPUs, then CPU packages and DRAM domains; empty if there are none.

    Raises
    ------
    TypeError
        If `sim` is no text.
    Error
        If there is no such profile.
    """
    if sim is not None:
        sim = _arguments.text("sim", sim)
    return [Board(**fields) for fields in _core.boards(sim)]


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of `joulemap doctor`.

    Attributes
    ----------
    subject : str
        What was checked: "NVML", "RAPL (powercap)", "CUPTI".
    works : bool
        Whether it works.
    detail : str
        The path and version found, or the cause of the failure.
    cure : str
        What to do; "" if it works or nothing helps.
    """

    subject: str
    works: bool
    detail: str
    cure: str


def doctor(sim: str | None = None) -> list[Finding]:
    """Check what works on this machine, and how to cure what does not; takes some seconds at most.

    CUDA and CUPTI are tried in child processes, not in this one.

    Parameters
    ----------
    sim : str, optional
        As in `boards`.

    Returns
    -------
    list of Finding
        One per line of `joulemap doctor`, in the same order.

    Raises
    ------
    TypeError
        If `sim` is no text.
    Error
        If there is no such profile.
    """
    if sim is not None:
        sim = _arguments.text("sim", sim)
    return [Finding(**fields) for fields in _core.findings(sim)]
