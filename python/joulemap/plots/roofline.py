"""The energy roofline: energy per FLOP over arithmetic intensity.

Choi, Bedard, Fowler, Vuduc: "A Roofline Model of Energy", IPDPS 2013.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from joulemap._report import Report
from joulemap._row_types import Row
from joulemap.plots.series import Array, array
from joulemap.plots.style import MARKERS, CannotDrawError, Look, axes_width_pt, legend, plain, width_pt

if TYPE_CHECKING:
    from typing import TypeAlias

    from matplotlib.axes import Axes

    Counts: TypeAlias = Mapping[str, Sequence[float]]

_NAME_PT = 7.0
_COLOURED_KINDS = 3  # classes of layers with a colour of their own
_OTHERS = "others"


class Point(NamedTuple):
    """A group of layers: FLOPs per byte, joules per FLOP of forward passes with interval, and joules in total."""

    path: str
    type: str
    intensity: float
    energy_j: float
    low_j: float
    high_j: float
    total_j: float


def points(report: Report, counts: Counts) -> list[Point]:
    """Return a point for each group of layers with known FLOPs, bytes and energy, and without counted children."""
    rows = report.rows
    parents = _parents(rows, counts)
    result = []
    for group in report.groups():
        leaves = [
            rows[k] for k in group.rows if _is_counted(rows[k], counts) and k not in parents and rows[k].calls > 0
        ]
        if not leaves or group.energy_j is None or group.energy_low_j is None or group.energy_high_j is None:
            continue
        if len(leaves) < len(group.rows):  # the counts of the others are unknown
            continue
        flops = sum(row.calls * counts[row.path][0] for row in leaves)
        moved = sum(row.calls * counts[row.path][1] for row in leaves)
        forward = _forward_share(leaves)
        if flops > 0 and moved > 0 and forward is not None and forward * group.energy_j > 0:
            scale = forward / flops
            ends = scale * group.energy_low_j, scale * group.energy_high_j
            result.append(
                Point(group.path, group.type, flops / moved, scale * group.energy_j, *ends, forward * group.energy_j)
            )
    return result


def _is_counted(row: Row, counts: Counts) -> bool:
    return row.kind == "layer" and row.path in counts


def _parents(rows: Sequence[Row], counts: Counts) -> set[int]:
    """Return the numbers of rows with counted descendants."""
    above: list[int] = []
    parents: set[int] = set()
    for number, row in enumerate(rows):
        del above[row.depth :]
        if _is_counted(row, counts):
            parents.update(above)
        above.append(number)
    return parents


def _forward_share(rows: Sequence[Row]) -> float | None:
    """Return the share of forward passes in the energy of some layers; None if not known."""
    known = [(row.forward_share, row.energy_j) for row in rows if row.energy_j]
    if not known or any(share is None for share, _ in known):
        return None
    return sum((share or 0.0) * (energy or 0.0) for share, energy in known) / sum(energy or 0.0 for _, energy in known)


def fit(intensity: Array, energy_j: Array) -> tuple[float, float]:
    """Return joules per FLOP and per byte, both non-negative, with the least squared relative errors."""
    design = np.stack([1 / energy_j, 1 / (energy_j * intensity)], axis=1)
    both = np.linalg.lstsq(design, np.ones(len(design)), rcond=None)[0]
    if (both >= 0).all():
        return float(both[0]), float(both[1])
    single = design.sum(axis=0) / (design**2).sum(axis=0)
    residuals = [((design[:, k] * single[k] - 1) ** 2).sum() for k in (0, 1)]
    return (float(single[0]), 0.0) if residuals[0] <= residuals[1] else (0.0, float(single[1]))


def roofline(ax: Axes, looks: Look, report: Report, *, counts: Counts | None = None) -> str:
    """Draw the energy per FLOP of each layer's forward passes over its arithmetic intensity."""
    if counts is None:
        raise CannotDrawError(
            "FLOPs and bytes of the layers are not known: give counts=joulemap.plots.count(model, *inputs)"
        )
    found = points(report, _checked(counts))
    if not found:
        raise CannotDrawError(
            "no layer of this report has FLOPs, bytes and energy: are the paths of counts those of its rows?"
        )
    x, y = array([p.intensity for p in found]), array([p.energy_j for p in found])
    factor, unit = (1e12, "pJ") if y.max() < 1e-8 else (1e9, "nJ")
    common = [kind for kind, _ in Counter(_kind(p) for p in found).most_common(_COLOURED_KINDS)]
    for number, kind in enumerate([*common, _OTHERS]):
        _points(ax, looks, [p for p in found if _label(_kind(p), common) == kind], factor, kind, number)
    _model(ax, looks, x, factor * y, unit)
    _scales(ax)
    _name(ax, looks, sorted(found, key=lambda p: p.total_j, reverse=True), factor)
    ax.set_xlabel("arithmetic intensity (FLOP/byte)")
    ax.set_ylabel(f"energy a FLOP ({unit}), with 95 % intervals")
    legend(ax, looks)
    return f"forward passes of {len(found)} layers and groups of equal ones"


def _name(ax: Axes, looks: Look, found: list[Point], factor: float) -> None:
    """Write the names of points in this order, leaving out names that would overlap."""
    ax.autoscale_view()
    scale = axes_width_pt(ax) / ax.bbox.width  # typographic points per pixel
    written: list[tuple[float, float, float]] = []
    for point in found:
        name = plain(point.path, 26)
        x, y = scale * ax.transData.transform((point.intensity, factor * point.energy_j))
        width = width_pt(name, _NAME_PT)
        if any(x < left + w and left < x + width and abs(y - v) < 1.3 * _NAME_PT for left, v, w in written):
            continue
        written.append((x, y, width))
        position = (point.intensity, factor * point.energy_j)
        ax.annotate(name, position, (6, 4), textcoords="offset points", fontsize=_NAME_PT, color=looks.ink)


def _checked(counts: Counts) -> Counts:
    """Return counts as pairs of floats; TypeError if they are anything else."""
    try:
        return {str(path): (float(flop), float(byte)) for path, (flop, byte) in counts.items()}
    except (AttributeError, TypeError, ValueError):
        raise TypeError("counts is {path: (FLOPs, bytes)} of a forward call, as joulemap.plots.count gives") from None


def _scales(ax: Axes) -> None:
    """Make both scales logarithmic, with plain numbers at 1, 2 and 5."""
    from matplotlib.ticker import LogLocator, NullLocator

    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.margins(0.12)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=12))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(lambda value, _: f"{value:g}")


def _kind(point: Point) -> str:
    return point.type.partition("(")[0] or "layer"


def _label(kind: str, common: list[str]) -> str:
    return kind if kind in common else _OTHERS


def _points(ax: Axes, looks: Look, found: list[Point], factor: float, kind: str, number: int) -> None:
    if not found:
        return
    y = factor * array([p.energy_j for p in found])
    low, high = (factor * array([getattr(p, end) for p in found]) for end in ("low_j", "high_j"))
    # A logarithmic scale cannot show a lower end at or below zero: it is drawn at a thousandth of the value.
    errors = [y - np.maximum(low, y / 1000), high - y]
    ax.errorbar(
        [p.intensity for p in found],
        y,
        yerr=errors,
        fmt=MARKERS[number % len(MARKERS)],
        color=looks.series[number % len(looks.series)],
        markersize=5,
        elinewidth=1,
        capsize=2,
        label=plain(kind, 20),
    )


def _model(ax: Axes, looks: Look, x: Array, y: Array, unit: str) -> None:
    """Draw the fitted model with a common energy per FLOP and per byte, if intensities differ enough."""
    if len(x) < 3 or x.max() < 2 * x.min():
        return
    flop, byte = fit(x, y)
    grid = np.geomspace(x.min() / 1.5, x.max() * 1.5, 100)
    text = f"{flop:.4g} {unit}/FLOP + {byte:.4g} {unit}/byte"
    ax.plot(
        grid, flop + byte / grid, color=looks.muted, linestyle="--", linewidth=1.2, label=text, gid="model", zorder=1
    )
