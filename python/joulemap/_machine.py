"""What there is on this machine: its boards, and what works."""

from __future__ import annotations

from dataclasses import dataclass

from joulemap import _arguments, _core


@dataclass(frozen=True, slots=True)
class Board:
    """A GPU, or a CPU package or DRAM domain, as found on this machine.

    Attributes
    ----------
    backend, name, uuid, pci, driver, profile : str
        "nvml", "NVIDIA H200", ...; "" where unknown.
    kind : str
        "gpu", "cpu" (a package, its DRAM, a socket) or "meter" (of what flows on into the others).
    index, cuda_index : int
        The back end's index, and the one after CUDA_VISIBLE_DEVICES; -1 if there is none.
    power_limit_w : float or None
        Enforced limit.
    simulated : bool
        True for the simulated board.
    memory_total_bytes, memory_free_bytes : int or None
        Memory of a GPU, and what of it was free when asked; None where unknown.
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
    """Return the boards of this machine. No process is started and no CUDA library loaded.

    Parameters
    ----------
    sim : str, optional
        Profile of the simulated board ("h200"); without it JOULEMAP_SIM decides, else the real boards.

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
        What was looked for: "NVML", "RAPL (powercap)", "CUPTI".
    works : bool
        Whether it works.
    detail : str
        The path and version found, or the cause.
    cure : str
        What to do; "" if it works or there is none.
    """

    subject: str
    works: bool
    detail: str
    cure: str


def doctor(sim: str | None = None) -> list[Finding]:
    """Say what works on this machine, what does not, and the cure; takes up to some seconds.

    CUDA and CUPTI are tried in processes of their own, not in this one.

    Parameters
    ----------
    sim : str, optional
        As of `boards`.

    Returns
    -------
    list of Finding
        One for each line of `joulemap doctor`, in its order.

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
