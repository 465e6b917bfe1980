"""The data of figures over time: series of one GPU, from a recording or made by hand."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from joulemap import _arguments
from joulemap._recording import Recording
from joulemap._session import Session
from joulemap._timeline import Series, Timeline


class PhaseEnergy(NamedTuple):
    """The joules of all phases of a name, with inner phases. None: not known.

    Attributes
    ----------
    name : str
        Name of the phases.
    energy_j : float or None
        Joules.
    energy_low_j, energy_high_j : float or None
        Ends of the 95 % interval, joules.
    """

    name: str
    energy_j: float | None
    energy_low_j: float | None
    energy_high_j: float | None


@dataclass(frozen=True, slots=True)
class PlotData:
    """Data of one GPU over the time of a run. Times are seconds from a common start; NaN is a missing value.

    Attributes
    ----------
    t_s, power_w : sequence of float
        Power in watts, and the time at which the GPU drew it (not the sensor's time stamp), sorted by time.
    gpu_util_t_s, gpu_util : sequence of float
        GPU utilisation in percent, and its times.
    mem_util_t_s, mem_util : sequence of float
        Memory utilisation in percent, and its times.
    phases : sequence of (name, start_s, end_s)
        Phases in order of their start; they may be nested.
    phase_energies : sequence of PhaseEnergy
        Energies from a report; if empty, figures integrate the readings.
    gpu_name, gpu : str, int
        Name and index of the GPU.
    simulated : bool
        Whether the GPU was simulated; figures show that.
    sensor : str
        The power sensor; empty: unknown.
    """

    t_s: Sequence[float] = ()
    power_w: Sequence[float] = ()
    gpu_util_t_s: Sequence[float] = ()
    gpu_util: Sequence[float] = ()
    mem_util_t_s: Sequence[float] = ()
    mem_util: Sequence[float] = ()
    phases: Sequence[tuple[str, float, float]] = ()
    phase_energies: Sequence[PhaseEnergy] = field(default=(), repr=False)
    gpu_name: str = ""
    gpu: int = 0
    simulated: bool = False
    sensor: str = ""

    def __post_init__(self) -> None:
        for times, values in (("t_s", "power_w"), ("gpu_util_t_s", "gpu_util"), ("mem_util_t_s", "mem_util")):
            time_count, value_count = len(getattr(self, times)), len(getattr(self, values))
            if time_count != value_count:
                raise ValueError(f"{values} has {value_count} values at {time_count} times ({times}): give as many")

    @classmethod
    def of(cls, source: PlotData | Recording | Session | str | os.PathLike[str], gpu: int | str = 0) -> PlotData:
        """Return the data of a GPU of a run.

        Parameters
        ----------
        source : path, Recording, Session or PlotData
            The run, up to now if it goes on. A `PlotData` is returned unchanged.
        gpu : int, str or torch.device
            Index of the GPU in `joulemap list`, CUDA's index as "cuda:0", or its UUID.

        Returns
        -------
        PlotData
            Times in seconds from the run's start; a quantity without readings is empty.

        Raises
        ------
        Error, TypeError, ValueError
            If the recording cannot be read, or an argument is wrong.
        """
        if isinstance(source, PlotData):
            return source
        if not isinstance(source, Recording | Session):
            with Recording(_arguments.path("source", source)) as recording:
                return cls.of(recording, gpu)
        timeline = source.timeline()
        index = _index_of(timeline, gpu)
        report = source.report("phase", gpu=index)
        power = _readings(timeline, "power", index)
        gpu_util = _readings(timeline, "gpu_utilisation", index)
        mem_util = _readings(timeline, "memory_utilisation", index)
        names = [series.board for series in timeline.series if series.gpu == index and series.kind == "gpu"]
        return cls(
            *_points(timeline, power),
            *_points(timeline, gpu_util),
            *_points(timeline, mem_util),
            phases=_phases(timeline),
            phase_energies=_energies(report),
            gpu_name=names[0] if names else "",
            gpu=index,
            simulated=report.totals.simulated,
            sensor=power.name if power is not None else "",
        )


def _index_of(timeline: Timeline, gpu: int | str) -> int:
    try:
        return timeline.gpu_index(gpu)
    except LookupError as error:
        raise ValueError(f"gpu={gpu!r}: {error}") from None


def _readings(timeline: Timeline, quantity: str, gpu: int) -> Series | None:
    try:
        return timeline.readings(quantity, gpu)
    except LookupError:  # a figure that needs it raises CannotDrawError
        return None


def _points(timeline: Timeline, series: Series | None) -> tuple[list[float], list[float]]:
    """Return the times of readings, seconds from the run's start, and their values.

    Time stamps are corrected by the sensor's lag, and moved to the middle of its averaging window.
    """
    if series is None:
        return [], []
    zero_ns = timeline.start_ns + 1e9 * (series.lag_s + series.window_s / 2)
    return [1e-9 * (t_ns - zero_ns) for t_ns in series.t_ns], list(series.values)


def _phases(timeline: Timeline) -> list[tuple[str, float, float]]:
    return [
        (span.name, 1e-9 * (span.start_ns - timeline.start_ns), 1e-9 * (span.end_ns - timeline.start_ns))
        for span in timeline.spans
        if span.kind == "phase"
    ]


def _energies(report: Any) -> list[PhaseEnergy]:
    """Return the energies of a report's phases; if names repeat, each has its path as a name."""
    rows = [row for row in report if row.kind == "phase"]
    names = [row.name for row in rows]
    return [
        PhaseEnergy(
            row.name if names.count(row.name) == 1 else row.path, row.energy_j, row.energy_low_j, row.energy_high_j
        )
        for row in rows
    ]
