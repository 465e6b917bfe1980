"""The recorded data: readings of each sensor, spans and marks, in order of time."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from joulemap import _arguments

if TYPE_CHECKING:
    import torch

    from joulemap import _core


@dataclass(frozen=True, slots=True, repr=False)
class Series:
    """The readings of one sensor.

    Attributes
    ----------
    name : str
        The sensor: "power_ring", "energy_counter", "util_gpu", ...; docs/sensors.md lists them.
    quantity, unit : str
        "power" in "W", "energy" in "J", "gpu_utilisation" and "memory_utilisation" in "%", "temperature" in "C",
        "clock_sm" in "MHz", ...
    backend : str
        The back end that reads it: "nvml", "rapl", ..., "import".
    kind : str
        Kind of the board: "gpu", "cpu" or "meter".
    gpu : int or None
        Index of the GPU in `joulemap list` and nvidia-smi (RAPL: of the package).
    cuda_index : int or None
        CUDA's index of the GPU, after CUDA_VISIBLE_DEVICES.
    board, uuid : str
        Name and UUID of the board.
    simulated : bool
        True for a simulated board.
    missing : str
        Why there are no readings; empty if the sensor can be read.
    lag_s, window_s : float
        Delay from the measured power to the time stamp, and averaging window of a reading, seconds.
    t_ns : array of int64
        CLOCK_MONOTONIC of each reading, nanoseconds, as stamped by the sensor.
    values : array of float64
        The readings in `unit`; as many as `t_ns`.
    """

    name: str
    quantity: str
    unit: str
    backend: str
    kind: str
    gpu: int | None
    cuda_index: int | None
    uuid: str
    board: str
    simulated: bool
    missing: str
    lag_s: float
    window_s: float
    t_ns: array[int]
    values: array[float]

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        whose = f"{self.kind} {self.gpu}" if self.gpu is not None else self.kind
        count = f"missing: {self.missing}" if self.missing else f"{len(self)} readings"
        return f"<joulemap.types.Series {self.name} of {whose}: {count}>"

    def __iter__(self) -> Iterator[tuple[int, float]]:
        """Yield the time (ns) and value of each reading."""
        return zip(self.t_ns, self.values, strict=True)


@dataclass(frozen=True, slots=True)
class Span:
    """A phase, epoch, step, window, call of a layer, or range.

    Attributes
    ----------
    kind : str
        "phase", "epoch", "step", "window", "batch", "data", "forward", "backward", "recompute", "optimizer", "nvtx",
        "function", "carried" (an "nvtx" range repeated on another thread).
    name, type : str
        Its name (for a layer the module's path), and the type of a layer.
    start_ns, end_ns : int
        CLOCK_MONOTONIC, nanoseconds. If it never ended, `end_ns` is the end of its process or of the recording.
    ended : bool
        False if it never ended.
    parent : int or None
        Index in `Timeline.spans` of the enclosing span.
    samples, tokens : int
        As given by the program; 0: unknown.
    payload : int, float or None
        Number attached to a range (NVTX's payload; the bytes of a Kokkos deep copy).
    process_id, thread_id : int
        Process and thread that began it.
    rank : int or None
        Rank of the process in a parallel program.
    """

    kind: str
    name: str
    type: str
    start_ns: int
    end_ns: int
    ended: bool
    parent: int | None
    samples: int
    tokens: int
    payload: int | float | None
    process_id: int
    rank: int | None
    thread_id: int

    @property
    def duration_s(self) -> float:
        """Seconds from its start to its end."""
        return 1e-9 * (self.end_ns - self.start_ns)


@dataclass(frozen=True, slots=True)
class Mark:
    """A named instant.

    Attributes
    ----------
    name : str
        As given by the program.
    t_ns : int
        CLOCK_MONOTONIC, nanoseconds.
    meta : dict
        Values that the program attached; may be empty.
    process_id, thread_id : int
        Process and thread that set it.
    rank : int or None
        Rank of the process in a parallel program.
    """

    name: str
    t_ns: int
    meta: dict[str, Any]
    process_id: int
    rank: int | None
    thread_id: int


def _series(fields: dict[str, Any]) -> Series:
    stamps, values = array("q"), array("d")
    stamps.frombytes(fields.pop("t_ns"))
    values.frombytes(fields.pop("values"))
    return Series(**fields, t_ns=stamps, values=values)


def _meta(text: str | None) -> dict[str, Any]:
    """Parse a mark's JSON; anything else, from another program, is kept as a text."""
    try:
        meta = json.loads(text or "{}", parse_constant=lambda word: None)
    except ValueError:
        meta = text
    return meta if isinstance(meta, dict) else {"text": meta}


class Timeline:
    """Readings, spans and marks of a run, from `Session.timeline` or `Recording.timeline`.

    Attributes
    ----------
    start_ns, end_ns : int
        CLOCK_MONOTONIC of the run's start, and the time up to which the data are complete, nanoseconds.
    series : list of Series
        One per sensor, including sensors that cannot be read (`missing`).
    spans : list of Span
        In order of their start.
    marks : list of Mark
        In order of time.
    """

    def __init__(self, core: _core.TimelineDict) -> None:
        self.start_ns = core["start_ns"]
        self.end_ns = core["end_ns"]
        self._unix_offset_ns = core["unix_offset_ns"]
        self.series = [_series(fields) for fields in core["series"]]
        self.spans = [Span(**fields) for fields in core["spans"]]
        self.marks = [Mark(**{**fields, "meta": _meta(fields["meta"])}) for fields in core["marks"]]

    def unix_s(self, t_ns: int) -> float | None:
        """Convert a time of CLOCK_MONOTONIC to Unix time.

        Parameters
        ----------
        t_ns : int
            CLOCK_MONOTONIC, nanoseconds.

        Returns
        -------
        float or None
            Seconds since 1970; None if the offset was not recorded (an import).
        """
        return None if self._unix_offset_ns == 0 else 1e-9 * (t_ns + self._unix_offset_ns)

    def gpu_index(self, gpu: int | str | torch.device) -> int:
        """Return the index of a GPU of the run, as in `joulemap list`.

        Parameters
        ----------
        gpu : int, str or torch.device
            Its index, CUDA's index as "cuda:1", or its UUID.

        Returns
        -------
        int
            The index. A plain index is returned unchecked.

        Raises
        ------
        LookupError
            If the run has no GPU with that CUDA index or UUID.
        TypeError, ValueError
            If `gpu` is none of these.
        """
        named = _arguments.gpu("gpu", gpu)
        if not named.uuid and not named.is_cuda:
            return named.number
        for one in self.series:
            if one.gpu is not None and (one.uuid == named.uuid if named.uuid else one.cuda_index == named.number):
                return one.gpu
        raise LookupError(f"this run has no GPU {named}")

    def readings(self, quantity: str = "power", gpu: int | str | torch.device = 0) -> Series:
        """Return the readings of a quantity from the GPU's sensor with the most readings.

        Parameters
        ----------
        quantity : str
            As in `Series.quantity`.
        gpu : int, str or torch.device
            Its index as in `Series.gpu`, CUDA's index as "cuda:1", or its UUID.

        Returns
        -------
        Series
            Times in ns, and values in `Series.unit`.

        Raises
        ------
        LookupError
            If the GPU has no such sensor, or none that can be read; the message says why.
        TypeError, ValueError
            If `gpu` is none of these.
        """
        gpu = self.gpu_index(gpu)
        found = [s for s in self.series if s.quantity == quantity and s.gpu == gpu and s.kind == "gpu"]
        if not found:
            there = sorted({f"GPU {s.gpu}: {s.quantity}" for s in self.series if s.kind == "gpu"})
            raise LookupError(f"GPU {gpu} has no sensor of {quantity!r}; there are: {', '.join(there) or 'none'}")
        best = max(found, key=len)
        if len(best) == 0:
            why = "; ".join(f"{s.name}: {s.missing}" for s in found if s.missing) or "nothing was recorded yet"
            raise LookupError(f"no readings of {quantity!r} of GPU {gpu}: {why}")
        return best

    def __repr__(self) -> str:
        seconds = 1e-9 * (self.end_ns - self.start_ns)
        return (
            f"<joulemap.types.Timeline {seconds:.6g} s: {sum(map(len, self.series))} readings, "
            f"{len(self.spans)} spans, {len(self.marks)} marks>"
        )
