"""The figure of joules per step over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from joulemap._report import Report, Sum
from joulemap._row_types import Row
from joulemap.plots import series
from joulemap.plots.layers import about
from joulemap.plots.series import array
from joulemap.plots.style import CannotDrawError, Look, joules, legend, seconds

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_POINTS, _MOST_GROUPS = 2000, 400  # as on the page: beyond 2000 steps each point is the mean of several
_WITH_MARKERS = 120  # points at most


class Point(NamedTuple):
    """Consecutive steps, and the mean energy of a step."""

    middle_s: float
    energy_j: float
    low_j: float
    high_j: float


def outermost(rows: list[Row]) -> list[int]:
    """Return the numbers of steps that are not inside of other steps, by their start."""
    steps, step_depth = [], -1
    for number, row in enumerate(rows):
        if step_depth >= 0 and row.depth > step_depth:
            continue
        step_depth = -1
        if row.kind == "step":
            steps.append(number)
            step_depth = row.depth
    return sorted(steps, key=lambda number: rows[number].start_ns)


def _number(value: float | None) -> float:
    return np.nan if value is None else value


def _point(report: Report, rows: list[Row], numbers: list[int], start_ns: int) -> Point:
    first, count = rows[numbers[0]], len(numbers)
    energy = Sum(first.energy_j, first.energy_low_j, first.energy_high_j)
    if count > 1:
        energy = Sum(*report._core(None).sum(numbers))
    middle = 0.5e-9 * (first.start_ns + rows[numbers[-1]].end_ns - 2 * start_ns)
    return Point(middle, *(_number(value) / count for value in energy))


def points(report: Report) -> tuple[list[Point], int]:
    """Return points of the steps of a report by span in order of time, and the number of steps per point."""
    rows = report.rows
    steps = outermost(rows)
    if not steps:
        raise CannotDrawError("this run has no steps: name them, `with session.step(samples=len(x)):`")
    each = 1 if len(steps) <= _MOST_POINTS else -(-len(steps) // _MOST_GROUPS)
    start_ns = rows[steps[0]].start_ns
    return [_point(report, rows, steps[k : k + each], start_ns) for k in range(0, len(steps), each)], each


def step_energy(ax: Axes, looks: Look, report: Report) -> str:
    """Draw the joules of each step with intervals over time."""
    found, each = points(report)
    t, energy, low, high = (array(column) for column in zip(*found, strict=True))
    if not np.isfinite(energy).any():
        raise CannotDrawError("no sensor measured the energy of any step")
    factor, unit = joules(float(np.nanmax(energy)))
    band = ax.fill_between(t, factor * low, factor * high, color=looks.series[0], alpha=0.25, linewidth=0)
    band.set(label="95 % interval", gid="intervals")
    marker = "o" if len(t) <= _WITH_MARKERS else ""
    drawn = factor * series.smoothed(t, energy, looks)
    label = "a step" if each == 1 else f"mean of {each} steps"
    ax.plot(t, drawn, color=looks.series[0], linewidth=1.1, marker=marker, markersize=3, label=label, gid="values")
    steady = report.totals.steady_step_j
    if steady is not None:
        text = f"{factor * steady:.4g} {unit}: all joules a step after the warm-up"  # includes time between steps
        ax.axhline(factor * steady, color=looks.series[1], linestyle="--", linewidth=1.2, label=text, gid="steady")
    ax.set_ylim(bottom=0)
    ax.set_ylabel(f"energy a step ({unit})")
    time_factor, time_unit = seconds(float(t[-1]))
    if time_unit != "s":
        ax.xaxis.set_major_formatter(lambda value, _: f"{time_factor * value:.4g}")
    ax.set_xlabel(f"time from the first step ({time_unit})")
    legend(ax, looks)
    return about(report)
