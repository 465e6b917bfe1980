"""Figures of a report, drawn by `joulemap.plots`."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import Any

from joulemap._recording import Recording
from joulemap._session import Session
from joulemap.compat.powerdl.samples import Window

NAMES = (
    "power_time",
    "gpu_util_time",
    "mem_util_time",
    "util_time_dual",
    "energy_rate",
    "power_derivative",
    "cumulative_energy",
    "power_hist",
    "util_hist",
    "power_ecdf",
    "util_ecdf",
    "power_boxplot_phase",
    "util_boxplot_phase",
    "phase_energy_bar",
    "phase_time_bar",
    "power_util_scatter",
    "power_util_hexbin",
)


SIZE_IN = (7.2, 4.2)


def names() -> list[str]:
    """Return the names of the figures."""
    return list(NAMES)


def draw(
    source: Session | Recording,
    window: Window,
    fig: str,
    *,
    out_dir: str | os.PathLike[str] | None,
    show: bool,
    format: str = "png",
    **opts: Any,
) -> Any:
    """Return a matplotlib figure of a run; optionally write it to a folder, and show it.

    Raises
    ------
    ValueError
        If there is no such figure.
    ImportError
        Without matplotlib.
    """
    if fig not in NAMES:
        raise ValueError(f"fig={fig!r} is not known: use one of {', '.join(NAMES)}")
    plots: Any = import_module("joulemap.plots")  # late, as it needs numpy and matplotlib
    out = None if out_dir is None else path_of(out_dir, fig, format)
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
    data = plots.PlotData.of(source, window.gpu)
    if not show:
        return plots.plot(data, fig, path=out, **opts)
    from matplotlib import pyplot

    figure, ax = pyplot.subplots(figsize=SIZE_IN, layout="constrained")
    plots.plot(data, fig, path=out, ax=ax, **opts)
    pyplot.show()
    return figure


def path_of(folder: str | os.PathLike[str], fig: str, format: str = "png") -> Path:
    """Return the path of a figure's file."""
    return Path(folder) / f"{fig}.{format}"
