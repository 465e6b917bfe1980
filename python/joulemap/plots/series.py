"""What figures compute of readings: pieces without gaps, means, integrals, and which phase a reading lies in."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from joulemap.plots.data import PlotData
from joulemap.plots.style import CannotDrawError, Look

Array: TypeAlias = "npt.NDArray[np.float64]"

GAP = 5.0  # so many times the usual distance of readings is a gap


def array(values: Sequence[Any] | Array) -> Array:
    """Return values as an array of float64."""
    return np.asarray(values, dtype=np.float64)


def power(data: PlotData) -> tuple[Array, Array]:
    """Return times and watts.

    Raises
    ------
    CannotDrawError
        If there are fewer than two readings.
    """
    return _told(data.t_s, data.power_w, f"GPU {data.gpu} has no readings of power in this run")


def gpu_util(data: PlotData) -> tuple[Array, Array]:
    """Likewise times and percent of the GPU's utilisation."""
    return _told(data.gpu_util_t_s, data.gpu_util, f"GPU {data.gpu} has no readings of its utilisation in this run")


def mem_util(data: PlotData) -> tuple[Array, Array]:
    """Likewise of the memory's."""
    return _told(
        data.mem_util_t_s, data.mem_util, f"GPU {data.gpu} has no readings of its memory's utilisation in this run"
    )


def _told(times: Sequence[float], values: Sequence[float], why: str) -> tuple[Array, Array]:
    t, y = array(times), array(values)
    if np.isfinite(y).sum() < 2:
        raise CannotDrawError(why)
    return t, y


def known(t: Array, y: Array) -> tuple[Array, Array]:
    """Return the readings that are not missing."""
    there = np.isfinite(t) & np.isfinite(y)
    return t[there], y[there]


def breaks(t: Array) -> Any:
    """Return after which readings there is a gap."""
    steps = np.diff(t)
    ahead = steps[steps > 0]
    return np.nonzero(steps > GAP * np.median(ahead))[0] if len(ahead) else np.array([], dtype=np.intp)


def broken(t: Array, *columns: Array) -> tuple[Array, ...]:
    """Return times and values with a NaN in each gap, so that no line is drawn across it."""
    where = breaks(t) + 1
    return tuple(np.insert(values, where, np.nan) for values in (t, *columns))


def smoothed(t: Array, y: Array, looks: Look) -> Array:
    """Return the mean of each reading and its neighbours, `looks.smooth` of them; not across gaps or missing ones."""
    count = looks.smooth
    if count is None or count < 2:
        return y
    result = np.full_like(y, np.nan)
    there = np.isfinite(y)
    edges = {0, len(y), *(breaks(t) + 1).tolist()}
    edges |= set((np.nonzero(np.diff(there))[0] + 1).tolist())
    ends = sorted(edges)
    for begin, end in pairwise(ends):
        if there[begin]:
            result[begin:end] = _running_mean(y[begin:end], count)
    return result


def _running_mean(y: Array, count: int) -> Array:
    sums = np.concatenate(([0.0], np.cumsum(y)))
    at = np.arange(len(y))
    low, high = np.maximum(at - (count - 1) // 2, 0), np.minimum(at + count // 2 + 1, len(y))
    mean: Array = (sums[high] - sums[low]) / (high - low)
    return mean


def cumulative(t: Array, watts: Array) -> Array:
    """Return joules from the first reading to each, by the trapezoidal rule."""
    joules: Array = np.concatenate(([0.0], np.cumsum(np.diff(t) * (watts[1:] + watts[:-1]) / 2)))
    return joules


def between(t: Array, watts: Array, starts: Sequence[float] | Array, ends: Sequence[float] | Array) -> Array:
    """Return the joules of intervals of time; NaN of those that the readings do not cover."""
    begin, end = array(starts), array(ends)
    joules = _joules_until(t, watts, end) - _joules_until(t, watts, begin)
    joules[(begin < t[0]) | (end > t[-1])] = np.nan
    return joules


def _joules_until(t: Array, watts: Array, edges: Array) -> Array:
    """Return joules from the first reading to some times; between readings power is a line, and they a parabola."""
    number = np.clip(np.searchsorted(t, edges, side="right") - 1, 0, len(t) - 2)
    into = edges - t[number]
    rise, step = watts[number + 1] - watts[number], t[number + 1] - t[number]
    slope = np.divide(rise, step, out=np.zeros(len(edges)), where=step > 0)
    until: Array = cumulative(t, watts)[number] + into * (watts[number] + slope * into / 2)
    return until


def names(data: PlotData) -> list[str]:
    """Return the phases' names, in the order of their first start.

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
    """Return when phases of a name were, those that overlap (of several processes) as one."""
    result: list[tuple[float, float]] = []
    for start, end in sorted((start, end) for n, start, end in data.phases if n == name):
        if result and start <= result[-1][1]:
            result[-1] = (result[-1][0], max(end, result[-1][1]))
        else:
            result.append((start, end))
    return result


def inside(data: PlotData, name: str, t: Array) -> Any:
    """Return which times lie in a phase of this name."""
    starts, ends = array([(-np.inf, -np.inf), *spells(data, name)]).T
    return t < ends[np.searchsorted(starts, t, side="right") - 1]


def by_phase(data: PlotData, t: Array, y: Array) -> dict[str, Array]:
    """Return the values in each phase, with those of phases in it, and those in none."""
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
