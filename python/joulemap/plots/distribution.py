"""Figures of distributions: histograms and distribution functions of power and utilisation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from joulemap import _arguments
from joulemap.plots import series
from joulemap.plots.data import PlotData
from joulemap.plots.series import Array
from joulemap.plots.style import HATCHES, LINES, Look, legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def _checked_bins(bins: int) -> int:
    if _arguments.whole("bins", bins, 10000) == 0:
        raise ValueError("bins is at least 1")
    return bins


def _quantile(ax: Axes, looks: Look, y: Array, share: float, label: str, number: int) -> None:
    value = float(np.quantile(y, share))
    text = f"{label} {value:.4g}"
    ax.axvline(value, color=looks.series[number], linestyle=LINES[number], linewidth=1.4, label=text, gid=label)


def power_hist(ax: Axes, looks: Look, data: PlotData, *, bins: int = 40) -> str:
    """Draw a histogram of power with its median."""
    _, watts = series.known(*series.power(data))
    ax.hist(watts, bins=_checked_bins(bins), color=looks.series[0], edgecolor=looks.paper, linewidth=0.4)
    _quantile(ax, looks, watts, 0.5, "median", 1)
    ax.set_xlabel("power (W)")
    ax.set_ylabel("readings")
    legend(ax, looks)
    return f"{len(watts)} readings of {data.sensor or 'power'}"


def _utils(data: PlotData) -> list[tuple[str, Array]]:
    return [
        ("GPU", series.known(*series.gpu_util(data))[1]),
        ("memory", series.known(*series.mem_util(data))[1]),
    ]


def util_hist(ax: Axes, looks: Look, data: PlotData, *, bins: int = 20) -> None:
    """Draw histograms of both utilisations."""
    edges = np.linspace(0, 100, _checked_bins(bins) + 1)
    for number, (name, percent) in enumerate(_utils(data)):
        colour = looks.series[number]
        shape: dict[str, Any] = {"color": colour, "edgecolor": colour, "alpha": 0.35, "hatch": HATCHES[number]}
        ax.hist(percent, bins=edges.tolist(), label=name, **shape)
    ax.set_xlim(0, 100)
    ax.set_xlabel("utilisation (%)")
    ax.set_ylabel("readings")
    legend(ax, looks)


def _ecdf(ax: Axes, looks: Look, values: Array, label: str, number: int) -> None:
    """Draw an empirical distribution function."""
    x = np.sort(values)
    share = np.arange(1, len(x) + 1) / len(x)
    ax.step(
        np.concatenate((x[:1], x)),
        np.concatenate(([0.0], share)),
        where="post",
        color=looks.series[number],
        linestyle=LINES[number],
        linewidth=1.5,
        label=label or None,
        gid=label or "share",
    )
    ax.set_ylim(0, 1.02)
    ax.set_ylabel("share of the readings")


def power_ecdf(ax: Axes, looks: Look, data: PlotData) -> str:
    """Draw the distribution function of power, with median and 90th percentile."""
    _, watts = series.known(*series.power(data))
    _ecdf(ax, looks, watts, "", 0)
    _quantile(ax, looks, watts, 0.5, "median", 1)
    _quantile(ax, looks, watts, 0.9, "p90", 2)
    ax.set_xlabel("power (W)")
    legend(ax, looks)
    return f"{len(watts)} readings of {data.sensor or 'power'}"


def util_ecdf(ax: Axes, looks: Look, data: PlotData) -> None:
    """Draw the distribution functions of both utilisations."""
    for number, (name, percent) in enumerate(_utils(data)):
        _ecdf(ax, looks, percent, name, number)
    ax.set_xlim(0, 100)
    ax.set_xlabel("utilisation (%)")
    legend(ax, looks)
