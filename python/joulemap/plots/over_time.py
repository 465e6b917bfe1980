"""Figures over time: power, utilisation, and quantities computed from power."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from joulemap import _arguments
from joulemap.plots import series
from joulemap.plots.data import PlotData
from joulemap.plots.series import Array
from joulemap.plots.style import (
    LINES,
    CannotDrawError,
    Look,
    axes_width_pt,
    dense,
    joules,
    legend,
    plain,
    seconds,
    width_pt,
)

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.ticker import Locator

_LANE = 0.075  # height of a line of phase names, as a share of the axes
_NAME_PT = 7.5
_HAIR = 1 / 4000  # of the time: shorter phases are invisible


def _line(ax: Axes, looks: Look, t: Array, y: Array, label: str = "", number: int = 0) -> None:
    """Draw values over time, with gaps where they are missing."""
    t, y = series.broken(t, series.smoothed(t, y, looks))
    ax.plot(
        t,
        y,
        LINES[number],
        color=looks.series[number],
        linewidth=1.1,
        label=label or None,
        gid=label or "values",
        rasterized=dense(len(t)),
    )


def _time_axis(ax: Axes, looks: Look, data: PlotData, *times: Array) -> None:
    """Scale the time axis, name it, shade phases, and make the legend."""
    begin, end = min(t[0] for t in times), max(t[-1] for t in times)
    ax.set_xlim(begin, end)
    factor, unit = seconds(end)
    if unit != "s":
        ax.xaxis.set_major_formatter(lambda value, _: f"{factor * value:g}")
        ax.xaxis.set_major_locator(_in_units(1 / factor))
    ax.set_xlabel(f"time ({unit})")
    handles: list[Artist] = list(ax.get_legend_handles_labels()[0])
    if looks.shade_phases:
        handles += _shade(ax, looks, data, begin, end)
    legend(ax, looks, handles)


def _in_units(size: float) -> Locator:
    """Return a locator of round numbers in multiples of `size`."""
    from matplotlib.ticker import MaxNLocator

    class InUnits(MaxNLocator):
        def tick_values(self, vmin: float, vmax: float) -> Any:
            return size * np.asarray(super().tick_values(vmin / size, vmax / size))

    return InUnits(nbins=9, steps=[1, 2, 5, 10])


def _lanes(spans: list[tuple[str, float, float]]) -> list[int]:
    """Return a line for the name of each phase, so that names of simultaneous phases do not overlap."""
    busy_until: list[float] = []
    lanes = []
    for _, start, end in spans:
        lane = next((n for n, until in enumerate(busy_until) if start >= until), len(busy_until))
        busy_until[lane : lane + 1] = [end]
        lanes.append(lane)
    return lanes


def _shade(ax: Axes, looks: Look, data: PlotData, begin: float, end: float) -> list[Artist]:
    """Shade phases with a colour per name. Names are written above if they fit, else returned for the legend."""
    least = _HAIR * (end - begin)
    all_names = dict.fromkeys(name for name, _, _ in data.phases)
    inside = [(name, max(s, begin), min(e, end)) for name in all_names for s, e in series.spells(data, name)]
    spans = sorted((span for span in inside if span[2] - span[1] > least), key=lambda span: span[1])
    if not spans:
        return []
    lanes = _lanes(spans)
    names = dict.fromkeys(name for name, _, _ in spans)
    colours = {name: looks.series[(2 + k) % len(looks.series)] for k, name in enumerate(names)}
    low, high = ax.get_ylim()
    ax.set_ylim(low, low + (high - low) / max(0.4, 1 - _LANE * (1 + max(lanes))))
    points_per_s = axes_width_pt(ax) / (end - begin)
    unnamed = dict(colours)
    for (name, start, stop), lane in zip(spans, lanes, strict=True):
        ax.axvspan(start, stop, color=colours[name], alpha=0.13, linewidth=0, zorder=0.5, label=f"_phase {name}")
        shown = plain(name, 32)
        if width_pt(shown, _NAME_PT) < points_per_s * (stop - start) and lane < 8:
            ax.text(
                (start + stop) / 2,
                0.985 - _LANE * lane,
                shown,
                transform=ax.get_xaxis_transform(),
                ha="center",
                va="top",
                fontsize=_NAME_PT,
                color=looks.ink,
            )
            unnamed.pop(name, None)
    return _handles(unnamed)


def _handles(colours: dict[str, str]) -> list[Artist]:
    """Return legend entries of phases too short for their names."""
    from matplotlib.patches import Patch

    most = 3
    named = [Patch(color=c, alpha=0.35, linewidth=0, label=plain(n, 16)) for n, c in list(colours.items())[:most]]
    if len(colours) > most:
        named.append(Patch(alpha=0, label=f"and {len(colours) - most} more"))
    return list(named)


def _percent(ax: Axes) -> None:
    ax.set_ylim(0, 102)
    ax.set_yticks(range(0, 101, 20))


# ---- the figures ----


def power_time(ax: Axes, looks: Look, data: PlotData) -> str:
    """Draw power over time."""
    t, watts = series.power(data)
    _line(ax, looks, t, watts)
    ax.set_ylim(bottom=0)
    ax.set_ylabel("power (W)")
    _time_axis(ax, looks, data, t)
    return data.sensor


def gpu_util_time(ax: Axes, looks: Look, data: PlotData) -> None:
    """Draw the GPU's utilisation over time."""
    t, percent = series.gpu_util(data)
    _line(ax, looks, t, percent)
    _percent(ax)
    ax.set_ylabel("GPU utilisation (%)")
    _time_axis(ax, looks, data, t)


def mem_util_time(ax: Axes, looks: Look, data: PlotData) -> None:
    """Draw the memory's utilisation over time."""
    t, percent = series.mem_util(data)
    _line(ax, looks, t, percent, number=0)
    _percent(ax)
    ax.set_ylabel("memory utilisation (%)")
    _time_axis(ax, looks, data, t)


def util_time_dual(ax: Axes, looks: Look, data: PlotData) -> None:
    """Draw both utilisations over time."""
    gpu_t, gpu = series.gpu_util(data)
    mem_t, mem = series.mem_util(data)
    _line(ax, looks, gpu_t, gpu, "GPU", 0)
    _line(ax, looks, mem_t, mem, "memory", 1)
    _percent(ax)
    ax.set_ylabel("utilisation (%)")
    _time_axis(ax, looks, data, gpu_t, mem_t)


def energy_rate(
    ax: Axes, looks: Look, data: PlotData, *, bins: int = 100, band: tuple[float, float] = (0.1, 0.9)
) -> str:
    """Draw joules per second in equal intervals of time, with a band of quantiles of the readings."""
    t, watts = series.known(*series.power(data))
    bins = _arguments.whole("bins", bins, 100000)
    low, high = (_arguments.real("band", quantile, -1e-9, 1) for quantile in band)
    if not bins >= 1:
        raise ValueError("bins is at least 1")
    edges = np.linspace(t[0], t[-1], bins + 1)
    rate = series.between(t, watts, edges[:-1], edges[1:]) / np.diff(edges)
    lower, upper = np.full(bins, np.nan), np.full(bins, np.nan)
    for k, readings in enumerate(np.split(watts, np.searchsorted(t, edges[1:-1]))):
        if len(readings) > 0:
            lower[k], upper[k] = np.quantile(readings, [low, high])
        else:  # a gap
            rate[k] = np.nan
    middle = (edges[1:] + edges[:-1]) / 2
    text = f"{100 * low:.3g} to {100 * high:.3g} % of the readings"
    ax.fill_between(middle, lower, upper, color=looks.series[0], alpha=0.25, linewidth=0, label=text, gid="band")
    _line(ax, looks, middle, rate, "mean", 0)
    ax.set_ylim(bottom=0)
    ax.set_ylabel("energy rate (J/s)")
    _time_axis(ax, looks, data, t)
    return f"{data.sensor or 'readings'} in intervals of {(t[-1] - t[0]) / bins:.3g} s"


def power_derivative(ax: Axes, looks: Look, data: PlotData) -> str:
    """Draw the derivative of power."""
    t, watts = series.power(data)
    watts = series.smoothed(t, watts, looks)
    t, watts = series.known(t, watts)
    distinct = np.concatenate(([True], np.diff(t) > 0))  # readings at equal times have no slope
    t, watts = t[distinct], watts[distinct]
    if len(t) < 2:
        raise CannotDrawError("all readings of power have the same time")
    slope = np.full(len(t), np.nan)
    ends = [0, *(series.breaks(t) + 1).tolist(), len(t)]
    for begin, end in pairwise(ends):
        if end - begin > 1:
            slope[begin:end] = np.gradient(watts[begin:end], t[begin:end])
    ax.axhline(0, color=looks.muted, linewidth=0.8)
    x, y = series.broken(t, slope)
    ax.plot(x, y, color=looks.series[0], linewidth=0.9, gid="values", rasterized=dense(len(x)))
    ax.set_ylabel("change of power (W/s)")
    _time_axis(ax, looks, data, t)
    return data.sensor


def cumulative_energy(ax: Axes, looks: Look, data: PlotData) -> str:
    """Draw the energy since the first reading."""
    t, watts = series.known(*series.power(data))
    total = series.cumulative(t, watts)
    factor, unit = joules(total[-1])
    x, y = series.broken(t, factor * total)
    ax.plot(x, y, color=looks.series[0], linewidth=1.6, gid="values", rasterized=dense(len(x)))
    ax.set_ylim(bottom=0)
    ax.set_ylabel(f"energy from the first reading ({unit})")
    _time_axis(ax, looks, data, t)
    bridged = ", gaps bridged" if len(x) > len(t) else ""
    return f"integral of {data.sensor or 'the readings'}: {factor * total[-1]:.4g} {unit}{bridged}"
