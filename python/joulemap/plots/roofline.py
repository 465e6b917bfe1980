"""The roofline of joules: energy a FLOP over arithmetic intensity.

Choi, Bedard, Fowler, Vuduc: "A Roofline Model of Energy", IPDPS 2013.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from joulemap._report import Report, Row
from joulemap.plots.series import Array, array
from joulemap.plots.style import MARKERS, CannotDrawError, Look, legend, plain, room_pt, width_pt

if TYPE_CHECKING:
    from typing import TypeAlias

    from matplotlib.axes import Axes

    Counts: TypeAlias = Mapping[str, Sequence[float]]

_NAME_PT = 7.0
_KINDS, _OTHERS = 3, "others"  # so many classes of layers have a colour of their own


class Point(NamedTuple):
    """Layers that the table shows as one: FLOPs a byte, joules a FLOP of forward passes, and what they took in all."""

    path: str
    type: str
    intensity: float
    energy_j: float
    low_j: float
    high_j: float
    total_j: float


def points(report: Report, counts: Counts) -> list[Point]:
    """Return a point for each group of layers of which FLOPs, bytes and energy are known, not of what holds others."""
    rows = report.rows
    inner = _holders(rows, counts)
    found = []
    for group in report.groups():
        few = [rows[k] for k in group.rows if _is_counted(rows[k], counts) and k not in inner and rows[k].calls > 0]
        if not few or group.energy_j is None or group.energy_low_j is None or group.energy_high_j is None:
            continue
        if len(few) < len(group.rows):  # of the others nobody knows what they compute
            continue
        flops = sum(row.calls * counts[row.path][0] for row in few)
        moved = sum(row.calls * counts[row.path][1] for row in few)
        forward = _forward(few)
        if flops > 0 and moved > 0 and forward is not None and forward * group.energy_j > 0:
            each = forward / flops
            ends = each * group.energy_low_j, each * group.energy_high_j
            found.append(
                Point(group.path, group.type, flops / moved, each * group.energy_j, *ends, forward * group.energy_j)
            )
    return found


def _is_counted(row: Row, counts: Counts) -> bool:
    return row.kind == "layer" and row.path in counts


def _holders(rows: Sequence[Row], counts: Counts) -> set[int]:
    """Return which rows hold others that are counted."""
    above: list[int] = []
    found: set[int] = set()
    for number, row in enumerate(rows):
        del above[row.depth :]
        if _is_counted(row, counts):
            found.update(above)
        above.append(number)
    return found


def _forward(rows: Sequence[Row]) -> float | None:
    """Return the share of forward passes in the energy of some layers; None where it is not known."""
    known = [(row.forward_share, row.energy_j) for row in rows if row.energy_j]
    if not known or any(share is None for share, _ in known):
        return None
    return sum((share or 0.0) * (energy or 0.0) for share, energy in known) / sum(energy or 0.0 for _, energy in known)


def fit(intensity: Array, energy_j: Array) -> tuple[float, float]:
    """Return joules a FLOP and joules a byte, neither below zero, of the least squared relative errors."""
    design = np.stack([1 / energy_j, 1 / (energy_j * intensity)], axis=1)
    both = np.linalg.lstsq(design, np.ones(len(design)), rcond=None)[0]
    if (both >= 0).all():
        return float(both[0]), float(both[1])
    alone = design.sum(axis=0) / (design**2).sum(axis=0)
    left = [((design[:, k] * alone[k] - 1) ** 2).sum() for k in (0, 1)]
    return (float(alone[0]), 0.0) if left[0] <= left[1] else (0.0, float(alone[1]))


def roofline(ax: Axes, looks: Look, report: Report, *, counts: Counts | None = None) -> str:
    """Draw the energy of a FLOP of each layer's forward passes over its arithmetic intensity."""
    if counts is None:
        raise CannotDrawError(
            "FLOPs and bytes of the layers are not known: counts=joulemap.plots.count(model, *inputs) tells them"
        )
    found = points(report, _checked(counts))
    if not found:
        raise CannotDrawError(
            "no layer of this report has FLOPs, bytes and energy: are the paths of counts those of its rows?"
        )
    x, y = array([p.intensity for p in found]), array([p.energy_j for p in found])
    factor, unit = (1e12, "pJ") if y.max() < 1e-8 else (1e9, "nJ")
    most = [kind for kind, _ in Counter(_kind(p) for p in found).most_common(_KINDS)]
    for number, kind in enumerate([*most, _OTHERS]):
        _points(ax, looks, [p for p in found if _shown(_kind(p), most) == kind], factor, kind, number)
    _model(ax, looks, x, factor * y, unit)
    _scales(ax)
    _name(ax, looks, sorted(found, key=lambda p: p.total_j, reverse=True), factor)
    ax.set_xlabel("arithmetic intensity (FLOP/byte)")
    ax.set_ylabel(f"energy a FLOP ({unit}), with 95 % intervals")
    legend(ax, looks)
    return f"forward passes of {len(found)} layers and groups of equal ones"


def _name(ax: Axes, looks: Look, found: list[Point], factor: float) -> None:
    """Name points, those that took most first, as long as names do not lie on each other."""
    ax.autoscale_view()
    scale = room_pt(ax) / ax.bbox.width  # points a pixel
    taken: list[tuple[float, float, float]] = []
    for point in found:
        name = plain(point.path, 26)
        x, y = scale * ax.transData.transform((point.intensity, factor * point.energy_j))
        width = width_pt(name, _NAME_PT)
        if any(x < left + long and left < x + width and abs(y - at) < 1.3 * _NAME_PT for left, at, long in taken):
            continue
        taken.append((x, y, width))
        at = (point.intensity, factor * point.energy_j)
        ax.annotate(name, at, (6, 4), textcoords="offset points", fontsize=_NAME_PT, color=looks.ink)


def _checked(counts: Counts) -> Counts:
    """Return counts, each a pair of numbers; TypeError if they are anything else."""
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
        axis.set_major_formatter(lambda at, _: f"{at:g}")


def _kind(point: Point) -> str:
    return point.type.partition("(")[0] or "layer"


def _shown(kind: str, most: list[str]) -> str:
    return kind if kind in most else _OTHERS


def _points(ax: Axes, looks: Look, found: list[Point], factor: float, kind: str, number: int) -> None:
    if not found:
        return
    y = factor * array([p.energy_j for p in found])
    low, high = (factor * array([getattr(p, end) for p in found]) for end in ("low_j", "high_j"))
    # A lower end at or below zero has no place on a scale of powers of ten: it ends at a thousandth.
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
    """Draw what a FLOP and a byte cost if all layers paid the same; needs intensities that differ."""
    if len(x) < 3 or x.max() < 2 * x.min():
        return
    flop, byte = fit(x, y)
    at = np.geomspace(x.min() / 1.5, x.max() * 1.5, 100)
    words = f"{flop:.4g} {unit}/FLOP + {byte:.4g} {unit}/byte"
    ax.plot(at, flop + byte / at, color=looks.muted, linestyle="--", linewidth=1.2, label=words, gid="model", zorder=1)
