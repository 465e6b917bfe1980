"""Figures of a report's rows: bars of layers, and the flame graph of joules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from joulemap import _arguments
from joulemap._report import Group, Report, Row
from joulemap._tree import Node
from joulemap.plots.style import CannotDrawError, Look, energy_text, joules, legend, plain, room_pt, width_pt

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_UNSURE = ("weak", "unresolved")


def total_of(report: Report) -> float:
    """Return the report's total, joules.

    Raises
    ------
    CannotDrawError
        If no sensor tells it.
    """
    total = report.totals.total_energy_j
    if total is None:
        raise CannotDrawError(f"no sensor told the energy of this run: {report.quality.verdict_reason}")
    return total


def about(report: Report) -> str:
    """Return the total with its interval, in words."""
    totals = report.totals
    total = total_of(report)
    words = energy_text(total)
    if totals.total_low_j is not None and totals.total_high_j is not None and total > 0:
        words += f" ±{100 * (totals.total_high_j - totals.total_low_j) / 2 / total:.2g} %"
    return words + (f" in {totals.duration_s:.4g} s" if totals.duration_s is not None else "")


# ---- bars ----


class Bar(NamedTuple):
    """A group to draw."""

    group: Group
    name: str  # below the names of those shown around it
    is_around: bool  # others


def bars(groups: Sequence[Group], limit: int) -> list[Bar]:
    """Return the groups of most energy, in their own order."""
    told = [group for group in groups if group.energy_j]
    most = sorted(told, key=lambda group: abs(group.energy_j or 0.0), reverse=True)[:limit]
    chosen = {id(group) for group in most}
    above: list[int] = []
    result: list[Bar] = []
    for group, following in zip(told, [*told[1:], None], strict=True):
        if id(group) not in chosen:
            continue
        while above and above[-1] >= group.depth:
            above.pop()
        name = plain(group.name, 34) + (f"  x{group.members}" if group.members > 1 else "")
        result.append(Bar(group, "   " * len(above) + name, following is not None and following.depth > group.depth))
        above.append(group.depth)
    return result


def layer_energy(ax: Axes, looks: Look, report: Report, *, limit: int = 18, per: str = "run") -> str:
    """Draw the joules of the largest layers, equal ones together, with their intervals."""
    from matplotlib.patches import Patch

    if per not in ("run", "step"):
        raise ValueError(f"per={per!r} is not known: use one of run, step")
    steps = 1 if per == "run" else report.totals.steps
    if not steps:
        raise CannotDrawError("this run has no steps to divide by: per='run' draws its joules")
    total_of(report)
    groups = report.groups()
    shown = bars(groups, max(1, _arguments.whole("limit", limit)))
    if not shown:
        raise CannotDrawError("no row of this report has any energy")
    left_out = sum(1 for group in groups if group.energy_j) - len(shown)
    factor, unit = joules(max(abs(bar.group.energy_j or 0.0) for bar in shown) / steps)
    factor /= steps
    for at, bar in enumerate(shown):
        _bar(ax, looks, at, bar, factor)
    _names(ax, [bar.name for bar in shown])
    ax.set_ylim(len(shown) - 0.4, -0.6)
    if all((bar.group.energy_j or 0.0) >= 0 for bar in shown):
        ax.set_xlim(left=0)
    ax.grid(False, axis="y")
    ax.set_xlabel(f"energy{' a step' if per == 'step' else ''} ({unit}), with 95 % intervals")
    kinds = [Patch(facecolor=looks.series[0], edgecolor=looks.series[0], label="layer")]
    if any(bar.is_around for bar in shown):
        kinds.append(Patch(facecolor="none", edgecolor=looks.series[0], label="with what is in it"))
    if any(bar.group.provenance in _UNSURE for bar in shown):
        kinds.append(Patch(facecolor="none", edgecolor=looks.series[0], hatch="////", label="weak or unresolved"))
    legend(ax, looks, kinds, "best")
    return about(report) + (f"; {left_out} smaller rows are not shown" if left_out > 0 else "")


def _bar(ax: Axes, looks: Look, at: int, shown: Bar, factor: float) -> None:
    group = shown.group
    value = factor * (group.energy_j or 0.0)
    colour = looks.series[0]
    (bar,) = ax.barh([at], [value], height=0.66, edgecolor=colour, linewidth=1)
    bar.set_label("_" + group.path)  # for who looks for it; a legend shows none that begin so
    bar.set_facecolor("none" if shown.is_around else colour)
    if group.provenance in _UNSURE:
        bar.set(facecolor="none", hatch="////")
    if group.energy_low_j is not None and group.energy_high_j is not None:
        error = [[value - factor * group.energy_low_j], [factor * group.energy_high_j - value]]
        ax.errorbar([value], [at], xerr=error, fmt="none", ecolor=looks.ink, elinewidth=1.1, capsize=2.5)


def _names(ax: Axes, names: list[str]) -> None:
    """Write names from one line on, so that what is in what can be seen."""
    size = min(8.0, 150 / len(names))
    ax.set_yticks(range(len(names)))
    ax.set_yticklabels(names, ha="left", fontsize=size)
    ax.tick_params(axis="y", length=0, pad=6 + max(width_pt(name, 0.95 * size) for name in names))


# ---- flame ----


@dataclass(frozen=True, slots=True)
class Frame:
    """A row in the flame graph, joules from the left edge."""

    node: Node
    left: float
    width: float
    depth: int


def frames(root: Node, total: float, least: float) -> list[Frame]:
    """Return the frames of a tree: those in a row are no wider than it, and all of them as wide as the total.

    A row below zero is not drawn; what it lacks is taken off those beside it in proportion, as in what
    `joulemap export --format folded` writes. Frames narrower than `least` are left out, with all in them.
    """
    found: list[Frame] = []
    waiting: list[tuple[Node, float, float, int]] = [(root, 0.0, total, 0)]
    while waiting:
        node, left, width, depth = waiting.pop()
        if node.row is not None:
            found.append(Frame(node, left, width, depth))
        energy = total if node.row is None else node.row.energy_j or 0.0
        parts = [(child, max(0.0, child.row.energy_j or 0.0)) for child in node.children if child.row is not None]
        together = max(sum(part for _, part in parts), energy)
        scale = width / together if together > 0 else 0.0
        for child, part in parts:
            if part * scale > least:
                waiting.append((child, left, part * scale, depth + 1))
            left += part * scale
    return found


_TYPES = 4  # so many classes of layers have a colour of their own
_HAIR = 1 / 4000  # of the width: less than a pixel
_DEEPEST = 40


def energy_flame(ax: Axes, looks: Look, report: Report) -> str:
    """Draw rows as frames as wide as their joules, each upon the one around it."""
    from matplotlib.patches import Patch

    total = total_of(report)
    if total <= 0:
        raise CannotDrawError("the total of this run is not above zero")
    drawn = [f for f in frames(report.tree(), total, total * _HAIR) if f.depth <= _DEEPEST]
    factor, unit = joules(total)
    deepest = max((frame.depth for frame in drawn), default=0)
    ax.barh([0], [factor * total], height=1, color=looks.grid, edgecolor=looks.paper)
    _write(ax, looks, f"all: {energy_text(total)}", 0.0, 1.0, 0, looks.ink)
    colours = _colours(looks, report)
    number: dict[int, int] = {}
    for frame in sorted(drawn, key=lambda f: (f.depth, f.left)):
        number[frame.depth] = number.get(frame.depth, 0) + 1
        _frame(ax, looks, frame, factor, total, colours, number[frame.depth] % 2)
    ax.set_xlim(0, factor * total)
    ax.set_ylim(-0.5, max(deepest, 4) + 0.6)
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    ax.grid(False)
    ax.set_xlabel(f"energy ({unit})")
    legend(ax, looks, [Patch(color=_mixed(c, looks.paper, 0.6), label=plain(t, 18)) for t, c in colours.items()])
    return about(report)


def _kind(row: Row) -> str:
    return row.type.partition("(")[0] if row.kind == "layer" else ""


def _colours(looks: Look, report: Report) -> dict[str, str]:
    """Return a colour for each class of layers that takes most by itself."""
    alone: dict[str, float] = {}
    for row in report:
        if _kind(row):
            alone[_kind(row)] = alone.get(_kind(row), 0.0) + (row.energy_self_j or 0.0)
    most = sorted((kind for kind in alone if alone[kind] > 0), key=lambda kind: alone[kind], reverse=True)
    return dict(zip(most[:_TYPES], looks.series, strict=False))


def _frame(ax: Axes, looks: Look, frame: Frame, factor: float, total: float, colours: dict[str, str], odd: int) -> None:
    row: Any = frame.node.row
    colour = colours.get(_kind(row), looks.series[-1] if row.kind == "layer" else looks.muted)
    alpha = (0.62, 0.46)[odd] if row.kind == "layer" else (0.30, 0.22)[odd]
    (bar,) = ax.barh(
        [frame.depth],
        [factor * frame.width],
        left=[factor * frame.left],
        height=1,
        color=_mixed(colour, looks.paper, alpha),
        edgecolor=looks.paper,
        linewidth=0.5,
        hatch="////" if row.provenance in _UNSURE else None,
    )
    bar.set_label("_" + row.path)
    share = frame.width / total
    _write(ax, looks, row.name, frame.left / total, share, frame.depth, looks.ink)


def _mixed(colour: str, paper: str, share: float) -> str:
    from matplotlib.colors import to_hex, to_rgb

    red, green, blue = (share * a + (1 - share) * b for a, b in zip(to_rgb(colour), to_rgb(paper), strict=True))
    return to_hex((red, green, blue))


def _write(ax: Axes, looks: Look, name: str, left: float, share: float, depth: int, colour: str) -> None:
    """Write a frame's name, as much as fits."""
    size = 7.0
    room = int(1.15 * room_pt(ax) * share / width_pt("m", size)) - 1
    if room >= min(5, len(name)):
        text = plain(name, room)
        ax.text(left + 0.004, depth, text, transform=ax.get_yaxis_transform(), va="center", fontsize=size, color=colour)
