"""The roofline of joules: energy a FLOP over arithmetic intensity.

Choi, Bedard, Fowler, Vuduc: "A Roofline Model of Energy", IPDPS 2013.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from joulemap.plots.series import Array, array
from joulemap.plots.style import MARKERS, CannotDrawError, Look, legend, plain
from joulemap.report import Report, Row

if TYPE_CHECKING:
    from typing import TypeAlias

    from matplotlib.axes import Axes

    Counts: TypeAlias = Mapping[str, Sequence[float]]

_NAMED = 8


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
    x, y = array([p.intensity for p in found]), 1e12 * array([p.energy_j for p in found])
    kinds = list(dict.fromkeys(_kind(p) for p in found))
    for number, kind in enumerate(kinds):
        _points(ax, looks, [p for p in found if _kind(p) == kind], kind, number)
    _model(ax, looks, x, y)
    _scales(ax)
    for point in sorted(found, key=lambda p: p.total_j, reverse=True)[:_NAMED]:
        ax.annotate(
            plain(point.path, 26),
            (point.intensity, 1e12 * point.energy_j),
            (6, 4),
            textcoords="offset points",
            fontsize=7,
            color=looks.ink,
        )
    ax.set_xlabel("arithmetic intensity (FLOP/byte)")
    ax.set_ylabel("energy a FLOP (pJ), with 95 % intervals")
    legend(ax, looks, where="upper right")
    return f"forward passes of {len(found)} layers and groups of equal ones"


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


def _points(ax: Axes, looks: Look, found: list[Point], kind: str, number: int) -> None:
    y = 1e12 * array([p.energy_j for p in found])
    low, high = (1e12 * array([getattr(p, end) for p in found]) for end in ("low_j", "high_j"))
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


def _model(ax: Axes, looks: Look, x: Array, y: Array) -> None:
    """Draw what a FLOP and a byte cost if all layers paid the same; needs intensities that differ."""
    if len(x) < 3 or x.max() < 2 * x.min():
        return
    flop, byte = fit(x, y)
    at = np.geomspace(x.min() / 1.5, x.max() * 1.5, 100)
    words = f"{flop:.4g} pJ/FLOP + {byte:.4g} pJ/byte"
    ax.plot(at, flop + byte / at, color=looks.muted, linestyle="--", linewidth=1.2, label=words, gid="model", zorder=1)
