"""Figures of power over the GPU's utilisation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from joulemap import _arguments
from joulemap.plots import series
from joulemap.plots.data import PlotData
from joulemap.plots.series import Array
from joulemap.plots.style import MARKERS, CannotDrawError, Look, dense, legend, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_NAMES = 4


def _pairs(data: PlotData) -> tuple[Array, Array, Array]:
    """Return times and values of utilisation, and the power at these times; readings in gaps of power are left out."""
    power_t, watts = series.known(*series.power(data))
    t, percent = series.known(*series.gpu_util(data))
    inside = (t >= power_t[0]) & (t <= power_t[-1])
    for gap in series.breaks(power_t):
        inside &= ~((t > power_t[gap]) & (t < power_t[gap + 1]))
    t, percent = t[inside], percent[inside]
    if len(t) == 0:
        raise CannotDrawError("no reading of the GPU's utilisation lies within those of its power")
    return t, percent, np.interp(t, power_t, watts)


def _axes(ax: Axes) -> None:
    ax.set_xlim(-2, 102)
    ax.set_ylim(bottom=0)
    ax.set_xlabel("GPU utilisation (%)")
    ax.set_ylabel("power (W)")


def power_util_scatter(ax: Axes, looks: Look, data: PlotData) -> str:
    """Draw power over utilisation, coloured by phase; a reading in two phases belongs to the later name."""
    t, percent, watts = _pairs(data)
    names = series.names(data) if data.phases else []
    phase = np.zeros(len(t), dtype=np.intp)
    for number, name in enumerate(names, 1):
        phase[series.inside(data, name, t)] = min(number, _MOST_NAMES + 1)
    for number, name in enumerate(["(no phase)", *names[:_MOST_NAMES], "(other phases)"]):
        in_phase = phase == number
        if in_phase.any():
            colour = looks.muted if number == 0 and names else looks.series[(number - 1) % len(looks.series)]
            ax.scatter(
                percent[in_phase],
                watts[in_phase],
                s=16,
                marker=MARKERS[number % len(MARKERS)],
                color=colour,
                alpha=0.7,
                linewidth=0,
                label=plain(name, 20),
                rasterized=dense(len(t)),
            )
    _axes(ax)
    if names:
        legend(ax, looks)
    return f"{len(t)} readings"


def power_util_hexbin(ax: Axes, looks: Look, data: PlotData, *, bins: int = 30) -> str:
    """Draw the number of readings at each power and utilisation."""
    if _arguments.whole("bins", bins, 1000) == 0:
        raise ValueError("bins is at least 1")
    t, percent, watts = _pairs(data)
    top = 1.05 * float(watts.max()) or 1.0
    cells = ax.hexbin(percent, watts, gridsize=bins, extent=(0, 100, 0, top), mincnt=1, cmap="cividis")
    cells.set(edgecolor=looks.muted, linewidth=0.3)
    figure: Any = ax.get_figure()
    bar = figure.colorbar(cells, ax=ax, pad=0.02)
    bar.set_label("readings", color=looks.ink, fontsize=9)
    bar.ax.tick_params(colors=looks.ink, labelsize=8)
    bar.outline.set_visible(False)
    _axes(ax)
    ax.set_ylim(0, top)
    return f"{len(t)} readings"
