"""Samples and marks of a run in PowerDL's form: interpolated to a regular grid of times."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median
from typing import Any, NamedTuple

from joulemap._timeline import Series, Timeline

GAP_PERIODS = 5
"""Between readings further apart than this many median distances there are no samples."""

OWN_PREFIXES = ("joulemap: ", "torch.compile: ")
"""Prefixes of joulemap's own marks (src/format/rows/marks.h), which PowerDL's files do not have."""


class Sample(NamedTuple):
    """Power and utilisation at a time; NaN: not measured.

    Attributes
    ----------
    t : float
        Seconds from the beginning of the profile.
    p_w : float
        Power, watts.
    gpu_util, mem_util : float
        Utilisation, percent.
    ts : float
        Unix time, seconds; NaN if the recording has no time of day.
    """

    t: float
    p_w: float
    gpu_util: float = math.nan
    mem_util: float = math.nan
    ts: float = math.nan


@dataclass(frozen=True)
class Mark:
    """A named instant.

    Attributes
    ----------
    name : str
        "epoch_start", "batch_end", ...
    t : float
        Seconds from the beginning of the profile.
    meta : dict
        Values of the mark; for a `batch_end` batch, batch_size, loss.
    """

    name: str
    t: float
    meta: dict[str, Any] = field(default_factory=dict)


class Curve:
    """A sensor's readings as a curve: linear between readings, undefined outside of them and in gaps.

    The time of a reading is its stamp minus the sensor's lag and half of its averaging window.
    """

    def __init__(self, series: Series | None, begin_ns: int) -> None:
        self._t_ns: Sequence[int] = () if series is None else series.t_ns
        self._values: Sequence[float] = () if series is None else series.values
        self._zero_ns = 0.0 if series is None else begin_ns + 1e9 * (series.lag_s + series.window_s / 2)
        steps = [after - before for before, after in pairwise(self._t_ns[:10_000])]
        self._gap_ns = GAP_PERIODS * median(steps) if steps else 0.0
        self._next = 0  # the first reading at or after the last query

    def at(self, t_s: float) -> float:
        """Return the value at a time, seconds from the beginning; times must not decrease."""
        stamps, i = self._t_ns, self._next
        t_ns = 1e9 * t_s + self._zero_ns
        while i < len(stamps) and stamps[i] < t_ns:
            i += 1
        self._next = i
        if i == len(stamps):
            return math.nan
        if stamps[i] == t_ns:
            return self._values[i]
        if i == 0 or stamps[i] - stamps[i - 1] > self._gap_ns:
            return math.nan
        part = (t_ns - stamps[i - 1]) / (stamps[i] - stamps[i - 1])
        return self._values[i - 1] + part * (self._values[i] - self._values[i - 1])

    def mean(self, intervals: Sequence[tuple[float, float]]) -> float | None:
        """Return the mean of the readings in intervals, seconds from the beginning; None: there are none."""
        total, count, number = 0.0, 0, 0
        for t_ns, value in zip(self._t_ns, self._values, strict=True):
            t_s = 1e-9 * (t_ns - self._zero_ns)
            while number < len(intervals) and intervals[number][1] < t_s:
                number += 1
            if number == len(intervals):
                break
            if intervals[number][0] <= t_s:
                total, count = total + value, count + 1
        return total / count if count else None


def curve(timeline: Timeline, quantity: str, gpu: int, begin_ns: int) -> Curve:
    """Return the curve of a GPU's best sensor of a quantity; an empty curve without one."""
    try:
        series = timeline.readings(quantity, gpu)
    except LookupError:  # samples are NaN
        series = None
    return Curve(series, begin_ns)


class Window(NamedTuple):
    """The interval, GPU and process of a report.

    Attributes
    ----------
    begin_ns, end_ns : int
        CLOCK_MONOTONIC, nanoseconds.
    gpu : int
        Index of the GPU, as in rows.
    pid : int
        The process of the marks; 0: any.
    """

    begin_ns: int
    end_ns: int
    gpu: int
    pid: int


def iterate_samples(timeline: Timeline, window: Window, interval_s: float, collect_util: bool) -> Iterator[Sample]:
    """Yield samples on a grid from the begin of a window to its end, without keeping them in memory."""
    power = curve(timeline, "power", window.gpu, window.begin_ns)
    gpu_util = mem_util = Curve(None, 0)
    if collect_util:
        gpu_util = curve(timeline, "gpu_utilisation", window.gpu, window.begin_ns)
        mem_util = curve(timeline, "memory_utilisation", window.gpu, window.begin_ns)
    unix_s = timeline.unix_s(window.begin_ns)
    begin_s = math.nan if unix_s is None else unix_s
    for number in range(int(1e-9 * (window.end_ns - window.begin_ns) / interval_s + 1e-6) + 1):
        t = number * interval_s
        yield Sample(t, power.at(t), gpu_util.at(t), mem_util.at(t), begin_s + t)


def iterate_marks(timeline: Timeline, window: Window) -> Iterator[Mark]:
    """Yield the marks of a process in a window, without joulemap's own."""
    for mark in timeline.marks:
        if mark.name.startswith(OWN_PREFIXES):
            continue
        if window.begin_ns <= mark.t_ns <= window.end_ns and window.pid in (0, mark.process_id):
            yield Mark(mark.name, 1e-9 * (mark.t_ns - window.begin_ns), dict(mark.meta))
