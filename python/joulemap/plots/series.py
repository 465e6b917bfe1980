"""Computations on readings for figures: gaps, means, integrals, and the phases of readings."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from joulemap.plots.data import PlotData
from joulemap.plots.style import CannotDrawError, Look

Array: TypeAlias = "npt.NDArray[np.float64]"

GAP = 5.0  # a gap is this many times the median distance of readings


def array(values: Sequence[Any] | Array) -> Array:
    """Return values as an array of float64."""
    return np.asarray(values, dtype=np.float64)


def power(data: PlotData) -> tuple[Array, Array]:
    """Return the times and values of power, watts.

    Raises
    ------
    CannotDrawError
        If there are fewer than two readings.
    """
    return _readings(data.t_s, data.power_w, f"GPU {data.gpu} has no readings of power in this run")


def gpu_util(data: PlotData) -> tuple[Array, Array]:
    """Return the times and values of the GPU's utilisation, percent; CannotDrawError as for `power`."""
    return _readings(data.gpu_util_t_s, data.gpu_util, f"GPU {data.gpu} has no readings of its utilisation in this run")


def mem_util(data: PlotData) -> tuple[Array, Array]:
    """Return the times and values of the memory's utilisation, percent; CannotDrawError as for `power`."""
    return _readings(
        data.mem_util_t_s, data.mem_util, f"GPU {data.gpu} has no readings of its memory's utilisation in this run"
    )


def _readings(times: Sequence[float], values: Sequence[float], error: str) -> tuple[Array, Array]:
    t, y = array(times), array(values)
    if np.isfinite(y).sum() < 2:
        raise CannotDrawError(error)
    return t, y


def known(t: Array, y: Array) -> tuple[Array, Array]:
    """Return the readings that are not missing."""
    finite = np.isfinite(t) & np.isfinite(y)
    return t[finite], y[finite]


def breaks(t: Array) -> Any:
    """Return the numbers of readings that are followed by a gap."""
    steps = np.diff(t)
    positive = steps[steps > 0]
    return np.nonzero(steps > GAP * np.median(positive))[0] if len(positive) else np.array([], dtype=np.intp)


def broken(t: Array, *columns: Array) -> tuple[Array, ...]:
    """Return times and values with a NaN in each gap, so that no line is drawn across it."""
    where = breaks(t) + 1
    return tuple(np.insert(values, where, np.nan) for values in (t, *columns))


def smoothed(t: Array, y: Array, looks: Look) -> Array:
    """Return the running mean over `looks.smooth` readings, not across gaps and missing values."""
    count = looks.smooth
    if count is None or count < 2:
        return y
    result = np.full_like(y, np.nan)
    finite = np.isfinite(y)
    edges = {0, len(y), *(breaks(t) + 1).tolist()}
    edges |= set((np.nonzero(np.diff(finite))[0] + 1).tolist())
    for begin, end in pairwise(sorted(edges)):
        if finite[begin]:
            result[begin:end] = _running_mean(y[begin:end], count)
    return result


def _running_mean(y: Array, count: int) -> Array:
    sums = np.concatenate(([0.0], np.cumsum(y)))
    index = np.arange(len(y))
    low, high = np.maximum(index - (count - 1) // 2, 0), np.minimum(index + count // 2 + 1, len(y))
    mean: Array = (sums[high] - sums[low]) / (high - low)
    return mean


def cumulative(t: Array, watts: Array) -> Array:
    """Return the joules from the first reading to each reading, by the trapezoidal rule."""
    joules: Array = np.concatenate(([0.0], np.cumsum(np.diff(t) * (watts[1:] + watts[:-1]) / 2)))
    return joules


def between(t: Array, watts: Array, starts: Sequence[float] | Array, ends: Sequence[float] | Array) -> Array:
    """Return the joules of intervals; NaN for intervals that the readings do not cover."""
    begin, end = array(starts), array(ends)
    joules = _joules_until(t, watts, end) - _joules_until(t, watts, begin)
    joules[(begin < t[0]) | (end > t[-1])] = np.nan
    return joules


def _joules_until(t: Array, watts: Array, edges: Array) -> Array:
    """Return the joules from the first reading to each time; power is linear between readings."""
    number = np.clip(np.searchsorted(t, edges, side="right") - 1, 0, len(t) - 2)
    into = edges - t[number]
    rise, step = watts[number + 1] - watts[number], t[number + 1] - t[number]
    slope = np.divide(rise, step, out=np.zeros(len(edges)), where=step > 0)
    until: Array = cumulative(t, watts)[number] + into * (watts[number] + slope * into / 2)
    return until


def names(data: PlotData) -> list[str]:
    """Return the names of phases in the order of their first start.

    Raises
    ------
    CannotDrawError
        If there are no phases.
    """
    found = list(dict.fromkeys(name for name, _, _ in data.phases))
    if not found:
        raise CannotDrawError("this run has no phases: name them, `with session.phase('train'):`")
    return found


def spells(data: PlotData, name: str) -> list[tuple[float, float]]:
    """Return the intervals of phases of a name; overlapping ones (of several processes) are merged."""
    result: list[tuple[float, float]] = []
    for start, end in sorted((start, end) for n, start, end in data.phases if n == name):
        if result and start <= result[-1][1]:
            result[-1] = (result[-1][0], max(end, result[-1][1]))
        else:
            result.append((start, end))
    return result


def inside(data: PlotData, name: str, t: Array) -> Any:
    """Return a mask of the times in phases of this name."""
    starts, ends = array([(-np.inf, -np.inf), *spells(data, name)]).T
    return t < ends[np.searchsorted(starts, t, side="right") - 1]


def by_phase(data: PlotData, t: Array, y: Array) -> dict[str, Array]:
    """Return the values in each phase, including inner phases, and those outside of phases."""
    t, y = known(t, y)
    groups, rest = {}, np.ones(len(t), dtype=bool)
    for name in names(data):
        mask = inside(data, name, t)
        rest &= ~mask
        if mask.any():
            groups[name] = y[mask]
    if rest.any():
        groups["(no phase)"] = y[rest]
    return groups
