"""The style of figures: colours for the colour-blind, texts that fit, and writing of files.

Matplotlib's process-wide settings are changed only inside of `settings()`. pyplot and the user's backend are never
used, so figures can be made in servers and threads.
"""

from __future__ import annotations

import contextlib
import os
import re
import textwrap
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from joulemap._locks import Lock

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito, "Color Universal Design" (2008), without black (the text) and yellow (too pale on paper).
_BLUE, _SKY, _ORANGE, _VERMILION, _GREEN, _PURPLE = "#0072B2", "#56B4E9", "#E69F00", "#D55E00", "#009E73", "#CC79A7"

LINES = ("-", "--", "-.", ":")  # so that lines also differ in black and white
HATCHES = ("", "///", "...", "xxx", "\\\\\\", "++")
MARKERS = ("o", "s", "^", "D", "v", "P")

# The rcParams that figures depend on, also while text is drawn and files are written.
_SETTINGS = {
    "text.usetex": False,
    "font.family": ["DejaVu Sans"],
    "svg.hashsalt": "joulemap",  # the same figure is the same file
    "pdf.fonttype": 42,  # text that can be searched and edited
    "axes.unicode_minus": True,
    "axes.formatter.useoffset": False,
    "path.simplify": True,
    "hatch.linewidth": 0.6,
}
_lock = Lock()

FORMATS = ("png", "svg", "pdf")
_METADATA: dict[str, dict[str, Any]] = {
    "png": {"Software": "joulemap"},
    "svg": {"Date": None, "Creator": "joulemap"},
    "pdf": {"CreationDate": None, "Creator": "joulemap"},
}


class CannotDrawError(RuntimeError):
    """The figure cannot be drawn from this run; the text says why."""


@dataclass(frozen=True, slots=True)
class Look:
    """Colours and options that all figures share."""

    paper: str
    ink: str
    muted: str
    grid: str
    series: tuple[str, ...]
    smooth: int | None
    shade_phases: bool


def look(dark: bool, smooth: int | None = None, shade_phases: bool = True) -> Look:
    """Return the colours for paper, or for a dark screen."""
    if dark:
        series = (_SKY, _ORANGE, _GREEN, _PURPLE, _VERMILION, _BLUE)
        return Look("#15181d", "#e6e8eb", "#a3a9b3", "#363c46", series, smooth, shade_phases)
    series = (_BLUE, _VERMILION, _GREEN, _ORANGE, _PURPLE, _SKY)
    return Look("#ffffff", "#1b1d21", "#5b616b", "#dfe2e6", series, smooth, shade_phases)


@contextlib.contextmanager
def settings() -> Iterator[None]:
    """Change the process-wide settings that figures depend on, and restore them."""
    import matplotlib

    with _lock:
        params: dict[str, Any] = matplotlib.rcParams  # type: ignore[assignment]  # keys are any text
        saved = {key: params[key] for key in _SETTINGS}
        params.update(_SETTINGS)
        try:
            yield
        finally:
            params.update(saved)


# ---- texts ----

_NOT_PRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def plain(text: str, most: int = 200) -> str:
    """Return a name for Matplotlib: no formulas, no control characters, at most `most` characters."""
    text = _NOT_PRINTABLE.sub("\ufffd", text)
    if len(text) > most:
        text = text[: (most - 1) // 2] + "…" + text[len(text) - most // 2 :]
    return text.replace("$", r"\$")


def width_pt(text: str, size: float) -> float:
    """Return the approximate width of a text in points: a letter of DejaVu Sans is 0.6 of its size on average."""
    return 0.6 * size * len(text)


# Least value, factor, unit.
_JOULES = ((1e7, 1e-6, "MJ"), (1e4, 1e-3, "kJ"), (0.1, 1.0, "J"), (1e-4, 1e3, "mJ"), (0.0, 1e6, "µJ"))
_SECONDS = ((3 * 3600.0, 1 / 3600, "h"), (1000.0, 1 / 60, "min"), (1.0, 1.0, "s"), (0.0, 1e3, "ms"))


def joules(most: float) -> tuple[float, str]:
    """Return a unit that fits energies up to `most` joules, as (factor, name)."""
    return next((factor, name) for least, factor, name in _JOULES if abs(most) >= least)


def seconds(most: float) -> tuple[float, str]:
    """Return a unit that fits times up to `most` seconds, as (factor, name)."""
    return next((factor, name) for least, factor, name in _SECONDS if abs(most) >= least)


def energy_text(energy_j: float) -> str:
    """Return joules as a text, in a unit that fits."""
    factor, name = joules(energy_j)
    return f"{factor * energy_j:.4g} {name}"


# ---- axes ----

_ABOUT_PT = 8.0


def axes_width_pt(ax: Axes) -> float:
    """Return the approximate width of axes in points, before layout."""
    figure: Any = ax.get_figure()
    return float(72 * ax.bbox.width / figure.dpi)


def dress(ax: Axes, looks: Look) -> None:
    """Apply the colours, a light grid and no box to axes."""
    ax.set_facecolor(looks.paper)
    for side, spine in ax.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(looks.muted)
    ax.tick_params(colors=looks.ink, labelsize=8, color=looks.muted)
    ax.grid(True, color=looks.grid, linewidth=0.6)
    ax.set_axisbelow(True)
    for axis in (ax.xaxis, ax.yaxis):
        axis.label.set(color=looks.ink, fontsize=9)
        axis.get_offset_text().set_color(looks.ink)


def head(ax: Axes, looks: Look, title: str, about: str, simulated: bool) -> None:
    """Write the title, the text below it, and whether the GPU was simulated; the legend must exist already."""
    width = axes_width_pt(ax)
    lines = textwrap.wrap(about, max(20, int(width / width_pt("m", _ABOUT_PT))))
    key = ax.get_legend()
    texts = [] if key is None or key.get_frame_on() else key.get_texts()  # a framed legend is inside of the axes
    key_width = sum(36 + width_pt(text.get_text(), 8) for text in texts)
    overlaps = bool(lines) and width_pt(lines[-1], _ABOUT_PT) + key_width >= width
    up = 18 if overlaps else 6
    ax.set_title(title, loc="left", fontsize=10.5, fontweight="bold", color=looks.ink, pad=up + 4 + 10 * len(lines))
    ax.annotate(
        "\n".join(lines),
        (0, 1),
        (0, up),
        xycoords="axes fraction",
        textcoords="offset points",
        fontsize=_ABOUT_PT,
        color=looks.muted,
    )
    if simulated:
        pad = up + 5 + 10 * len(lines)
        ax.set_title("simulated GPU", loc="right", fontsize=8.5, fontweight="bold", color=looks.series[1], pad=pad)


def legend(ax: Axes, looks: Look, handles: list[Any] | None = None, where: str = "") -> None:
    """Put the legend at the right below the title, or into the axes at `where`."""
    if handles is None:
        handles = ax.get_legend_handles_labels()[0]
    if not handles:
        return
    options: dict[str, Any] = {"loc": where, "facecolor": looks.paper, "edgecolor": looks.grid, "framealpha": 0.9}
    if not where:
        options = {"loc": "lower right", "bbox_to_anchor": (1, 1), "ncol": len(handles), "frameon": False}
        options |= {"borderaxespad": 0.2, "columnspacing": 1.4}
    ax.legend(handles=handles, fontsize=8, labelcolor=looks.ink, **options)


def dense(count: int) -> bool:
    """Return whether SVG and PDF should have this many points as an image."""
    return count > 20000


# ---- files ----


def format_of(out: str | os.PathLike[str]) -> str:
    """Return the format of a file by the ending of its name.

    Raises
    ------
    ValueError
        If it is none of `FORMATS`.
    """
    ending = Path(out).suffix[1:].lower()
    if ending not in FORMATS:
        known = ", ".join(f".{name}" for name in FORMATS)
        raise ValueError(f"{os.fspath(out)!r}: the name of a figure's file ends with one of {known}")
    return ending


def write(figure: Figure, out: str | os.PathLike[str], dpi: int) -> None:
    """Write a figure atomically. The file has no dates, so equal figures are equal files."""
    ending, path, image = format_of(out), Path(out), BytesIO()
    with settings():
        figure.savefig(image, format=ending, dpi=dpi, metadata=_METADATA[ending], facecolor=figure.get_facecolor())
    if path.exists() and not path.is_file():  # a device or a pipe
        path.write_bytes(image.getvalue())
        return
    path = path.resolve()  # so that a link stays a link
    temporary = path.with_name(f".{path.stem}.{os.getpid()}-{threading.get_ident()}{path.suffix}")
    try:
        temporary.write_bytes(image.getvalue())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
