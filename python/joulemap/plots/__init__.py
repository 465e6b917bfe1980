"""Figures of a run: its energy over time and by layer, and comparisons of runs.

>>> import joulemap.plots
>>> joulemap.plots.plot("run.joulemap", "power_time", path="power.pdf")  # doctest: +SKIP

Matplotlib (`pip install 'joulemap[plot]'`) is imported when a figure is drawn.
"""

from __future__ import annotations

import difflib
import inspect
import os
from typing import TYPE_CHECKING, Any

from joulemap import _arguments
from joulemap.plots.counts import count
from joulemap.plots.data import PhaseEnergy, PlotData

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from joulemap.plots.sources import Source
    from joulemap.plots.style import CannotDrawError as CannotDrawError
    from joulemap.plots.table import Entry

__all__ = ["CannotDrawError", "PhaseEnergy", "PlotData", "count", "figures", "plot"]


def _import_matplotlib() -> None:
    """Import Matplotlib; ImportError says what to install."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError as error:
        raise ImportError("figures need matplotlib: pip install 'joulemap[plot]'") from error


def __getattr__(name: str) -> Any:
    if name == "CannotDrawError":
        from joulemap.plots.style import CannotDrawError

        return CannotDrawError
    raise AttributeError(f"module 'joulemap.plots' has no attribute {name!r}")


def figures() -> list[str]:
    """Return the keys of all figures that `plot` draws.

    Returns
    -------
    list of str
        "power_time", "layer_energy", ...; docs/figures.md shows them.

    Raises
    ------
    ImportError
        Without Matplotlib.
    """
    _import_matplotlib()
    from joulemap.plots.table import FIGURES

    return list(FIGURES)


def _entry(figure: str) -> Entry:
    from joulemap.plots.table import FIGURES

    entry = FIGURES.get(_arguments.text("figure", figure))
    if entry is None:
        near = difflib.get_close_matches(figure, FIGURES, n=1)
        guess = f" (did you mean {near[0]}?)" if near else ""
        raise ValueError(f"figure={figure!r} is not known{guess}: use one of {', '.join(FIGURES)}")
    return entry


def _check_options(entry: Entry, options: dict[str, Any]) -> None:
    """Raise TypeError for an option that the figure does not have."""
    known = [p.name for p in inspect.signature(entry.draw).parameters.values() if p.kind is p.KEYWORD_ONLY]
    if entry.needs == "runs":
        known += ["per"]
    for name in options:
        if name not in known:
            has = f"its options are {', '.join(known)}" if known else "it has no options of its own"
            raise TypeError(f"{entry.key} has no option {name!r}: {has}")


def plot(
    source: Source,
    figure: str,
    *,
    path: str | os.PathLike[str] | None = None,
    dpi: int = 300,
    size: tuple[float, float] = (7.2, 4.2),
    ax: Axes | None = None,
    dark: bool = False,
    gpu: int | str | None = None,
    smooth: int | None = None,
    shade_phases: bool = True,
    **opts: Any,
) -> Figure:
    """Draw a figure of a run, and write it to `path` if that is given.

    pyplot is not used: no window opens, and any thread may draw.

    Parameters
    ----------
    source : path, Recording, Session, Report, PlotData, Diff or CapSearch
        The run. Figures of layers and steps also accept a `Report`, figures of readings a `PlotData`. `two_runs` takes
        a pair (before, after) or a `Diff`. `power_cap` takes the result of `joulemap.caps.search`, its JSON as a file
        or a dict, or a recording of `joulemap cap search -o`.
    figure : str
        One of `figures()`.
    path : path, optional
        File to write atomically, PNG, SVG or PDF by its ending. It has no date, so the same run gives the same file.
    dpi : int
        Dots per inch of PNG.
    size : (float, float)
        Width and height in inches.
    ax : matplotlib.axes.Axes, optional
        Axes to draw into, instead of a new figure of `size`.
    dark : bool
        Draw light on dark, for screens.
    gpu : int or str, optional
        Index of the GPU, or "cuda:0". By default readings are those of GPU 0, and layers and steps of all GPUs.
    smooth : int, optional
        In figures over time, replace each reading by the mean of this many neighbours.
    shade_phases : bool
        Shade phases in figures over time.
    **opts
        Options of the figure: `bins` (histograms, energy_rate, power_util_hexbin), `band` (energy_rate), `limit`
        (layer_energy, two_runs), `per` (layer_energy: "run" or "step"; two_runs: as in `joulemap.diff`), `names`
        (two_runs), `counts` (roofline: the result of `count`).

    Returns
    -------
    matplotlib.figure.Figure
        The figure, to show or change; `figure.savefig` writes it again.

    Raises
    ------
    ValueError
        If there is no such figure (the message lists the known ones), or an argument is out of range.
    TypeError
        If an argument has a wrong type, or is no option of this figure.
    CannotDrawError
        If the run lacks the data of the figure; the message says which.
    Error
        If a recording cannot be read.
    ImportError
        Without matplotlib.
    OSError
        If the file cannot be written.
    """
    _import_matplotlib()
    from joulemap.plots import sources, style

    entry = _entry(figure)
    _check_options(entry, opts)
    dpi = _arguments.whole("dpi", dpi, 10000)
    if dpi == 0:
        raise ValueError("dpi is at least 1")
    if path is not None:
        style.format_of(_arguments.path("path", path))
    neighbours = None if smooth is None else _arguments.whole("smooth", smooth)
    looks = style.look(_arguments.flag("dark", dark), neighbours, _arguments.flag("shade_phases", shade_phases))
    found = sources.find(source, entry.needs, gpu, opts)
    with style.settings():
        drawn = _draw(entry, looks, found, ax, size, opts)
        if path is not None:
            style.write(drawn, path, dpi)
    return drawn


def _draw(entry: Entry, looks: Any, found: Any, ax: Axes | None, size: tuple[float, float], opts: Any) -> Figure:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    from joulemap.plots import style

    if ax is None:
        layout = ConstrainedLayoutEngine(w_pad=0.08, h_pad=0.08)
        figure = Figure(figsize=size, layout=layout, facecolor=looks.paper)
        FigureCanvasAgg(figure)
        ax = figure.add_subplot()
    style.dress(ax, looks)
    subtitle = entry.draw(ax, looks, found.data, **{**found.options, **opts})
    about = "; ".join(text for text in (found.about, subtitle) if text)
    style.head(ax, looks, entry.title, about, found.simulated)
    owner: Any = ax.get_figure()
    while not isinstance(owner, Figure):  # a SubFigure
        owner = owner.figure
    return owner
