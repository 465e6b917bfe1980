"""What was recorded, as it was recorded: readings of each sensor, spans and marks, in order of time."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from joulemap import _arguments

if TYPE_CHECKING:
    import torch

    from joulemap import _core


@dataclass(frozen=True, slots=True)
class Series:
    """The readings of one sensor.

    Attributes
    ----------
    name : str
        The sensor: "power_ring", "energy_counter", "util_gpu", ...; docs/sensors.md has them.
    quantity, unit : str
        "power" in "W", "energy" in "J", "gpu_utilisation" and "memory_utilisation" in "%", "temperature" in "C",
        "clock_sm" in "MHz", ...
    backend : str
        Who reads it: "nvml", "rapl", ..., "import".
    kind : str
        Of what: "gpu", "cpu" or "meter".
    gpu : int or None
        Index of the GPU as `joulemap list` and nvidia-smi have it (of RAPL: of the package).
    cuda_index : int or None
        CUDA's index of it, after CUDA_VISIBLE_DEVICES.
    board, uuid : str
        Its name and UUID.
    missing : str
        Why there are no readings; empty if the sensor can be read.
    lag_s, window_s : float
        The sensor stamps this much later than the power that it reports, and reports the mean of this much time.
    t_ns : array of int64
        CLOCK_MONOTONIC of each reading, nanoseconds, as the sensor stamped it.
    values : array of float64
        The readings, in `unit`; as many.
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
    missing: str
    lag_s: float
    window_s: float
    t_ns: array[int] = field(repr=False)
    values: array[float] = field(repr=False)

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[tuple[int, float]]:
        """Yield time and value of each reading."""
        return zip(self.t_ns, self.values, strict=True)


@dataclass(frozen=True, slots=True)
class Span:
    """A phase, epoch, step, window, call of a layer or range.

    Attributes
    ----------
    kind : str
        "phase", "epoch", "step", "window", "batch", "data", "forward", "backward", "recompute", "optimizer", "nvtx",
        "function", "carried" (an "nvtx" that went on in another thread).
    name, type : str
        Its name (of a layer the module's path) and the class of a layer's work.
    start_ns, end_ns : int
        CLOCK_MONOTONIC. Of one that never ended, the end is that of its process, or of what is recorded.
    ended : bool
        False for such a one.
    parent : int or None
        Number, in `Timeline.spans`, of the span around it.
    samples, tokens : int
        As the program gave them; 0: unknown.
    payload : int, float or None
        The number that a range was given (NVTX's payload; of a Kokkos deep copy its bytes).
    process_id, thread_id : int
        Who began it.
    rank : int or None
        Of a parallel program.
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
        As the program gave it.
    t_ns : int
        CLOCK_MONOTONIC.
    meta : dict
        What else the program gave; empty if nothing.
    process_id, thread_id : int
        Who set it.
    rank : int or None
        Of a parallel program.
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
    """Read a mark's JSON; what is none (of another program) is kept as a text."""
    try:
        told = json.loads(text or "{}", parse_constant=lambda word: None)
    except ValueError:
        told = text
    return told if isinstance(told, dict) else {"text": told}


class Timeline:
    """Readings, spans and marks of a run, as `Session.timeline` and `Recording.timeline` give them.

    Attributes
    ----------
    start_ns, end_ns : int
        CLOCK_MONOTONIC of the run's start, and up to when this is complete.
    series : list of Series
        One a sensor, also those that cannot be read (`missing`).
    spans : list of Span
        By their start.
    marks : list of Mark
        By time.
    """

    def __init__(self, told: _core.TimelineDict) -> None:
        self.start_ns = told["start_ns"]
        self.end_ns = told["end_ns"]
        self._unix_offset_ns = told["unix_offset_ns"]
        self.series = [_series(fields) for fields in told["series"]]
        self.spans = [Span(**fields) for fields in told["spans"]]
        self.marks = [Mark(**{**fields, "meta": _meta(fields["meta"])}) for fields in told["marks"]]

    def unix_s(self, t_ns: int) -> float | None:
        """Return a time of CLOCK_MONOTONIC as Unix time.

        Parameters
        ----------
        t_ns : int
            CLOCK_MONOTONIC, nanoseconds.

        Returns
        -------
        float or None
            Seconds since 1970; None where it is not recorded (an import).
        """
        return None if self._unix_offset_ns == 0 else 1e-9 * (t_ns + self._unix_offset_ns)

    def gpu_index(self, gpu: int | str | torch.device) -> int:
        """Return the index of a GPU of the run, as `joulemap list` has it.

        Parameters
        ----------
        gpu : int, str or torch.device
            Its index, CUDA's own as "cuda:1", or its UUID.

        Returns
        -------
        int
            The index: of a GPU named by its index this one, also where the run has none of it.

        Raises
        ------
        LookupError
            If the run has no GPU of that number of CUDA's, or of that UUID.
        TypeError, ValueError
            If `gpu` is none of these.
        """
        meant = _arguments.gpu("gpu", gpu)
        if not meant.uuid and not meant.is_cuda:
            return meant.number
        for one in self.series:
            if one.gpu is not None and (one.uuid == meant.uuid if meant.uuid else one.cuda_index == meant.number):
                return one.gpu
        raise LookupError(f"this run has no GPU {meant}")

    def readings(self, quantity: str = "power", gpu: int | str | torch.device = 0) -> Series:
        """Return the readings of a GPU's best sensor of a quantity: of several, the one with most readings.

        Parameters
        ----------
        quantity : str
            As `Series.quantity`.
        gpu : int, str or torch.device
            Its index as `Series.gpu`, CUDA's own as "cuda:1", or its UUID.

        Returns
        -------
        Series
            Times in ns, and values in `Series.unit`.

        Raises
        ------
        LookupError
            If the GPU has no such sensor, or none that can be read; it says why.
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
