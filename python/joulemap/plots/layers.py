"""Figures of a report's rows: bars of layers, and the flame graph of energy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from joulemap import _arguments
from joulemap._report import Group, Report
from joulemap._row_types import Row
from joulemap._tree import Node
from joulemap.plots.style import CannotDrawError, Look, axes_width_pt, energy_text, joules, legend, plain, width_pt

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_UNSURE = ("weak", "unresolved")


def total_of(report: Report) -> float:
    """Return the report's total, joules.

    Raises
    ------
    CannotDrawError
        If no sensor measured it.
    """
    total = report.totals.total_energy_j
    if total is None:
        raise CannotDrawError(f"no sensor measured the energy of this run: {report.quality.verdict_reason}")
    return total


def about(report: Report) -> str:
    """Return the total and its interval as a text."""
    totals = report.totals
    total = total_of(report)
    text = energy_text(total)
    if totals.total_low_j is not None and totals.total_high_j is not None and total > 0:
        text += f" ±{100 * (totals.total_high_j - totals.total_low_j) / 2 / total:.2g} %"
    return text + (f" in {totals.duration_s:.4g} s" if totals.duration_s is not None else "")


# ---- bars ----


class Bar(NamedTuple):
    """A group to draw."""

    group: Group
    name: str  # indented below its shown ancestors
    has_children: bool


def bars(groups: Sequence[Group], limit: int) -> list[Bar]:
    """Return the groups with the most energy, in their original order."""
    known = [group for group in groups if group.energy_j]
    largest = sorted(known, key=lambda group: abs(group.energy_j or 0.0), reverse=True)[:limit]
    chosen = {id(group) for group in largest}
    above: list[int] = []
    result: list[Bar] = []
    for group, following in zip(known, [*known[1:], None], strict=True):
        if id(group) not in chosen:
            continue
        while above and above[-1] >= group.depth:
            above.pop()
        name = plain(group.name, 34) + (f"  x{group.members}" if group.members > 1 else "")
        result.append(Bar(group, "   " * len(above) + name, following is not None and following.depth > group.depth))
        above.append(group.depth)
    return result


def _of_a_step(group: Group) -> Group:
    return replace(group, energy_j=group.step_j, energy_low_j=group.step_low_j, energy_high_j=group.step_high_j)


def layer_energy(ax: Axes, looks: Look, report: Report, *, limit: int = 18, per: str = "run") -> str:
    """Draw the joules of the largest layers, equal ones as one bar, with their intervals."""
    from matplotlib.patches import Patch

    if per not in ("run", "step"):
        raise ValueError(f"per={per!r} is not known: use one of run, step")
    if per == "step" and not report.stages:
        raise CannotDrawError("this run has no steps to divide by: per='run' draws its joules")
    total_of(report)
    groups = report.groups() if per == "run" else [_of_a_step(group) for group in report.groups()]
    shown = bars(groups, max(1, _arguments.whole("limit", limit)))
    if not shown:
        raise CannotDrawError("no row of this report has any energy")
    left_out = sum(1 for group in groups if group.energy_j) - len(shown)
    factor, unit = joules(max(abs(bar.group.energy_j or 0.0) for bar in shown))
    for position, bar in enumerate(shown):
        _bar(ax, looks, position, bar, factor)
    _names(ax, [bar.name for bar in shown])
    ax.set_ylim(len(shown) - 0.4, -0.6)
    if all((bar.group.energy_j or 0.0) >= 0 for bar in shown):
        ax.set_xlim(left=0)
    ax.grid(False, axis="y")
    ax.set_xlabel(f"energy{' a step' if per == 'step' else ''} ({unit}), with 95 % intervals")
    kinds = [Patch(facecolor=looks.series[0], edgecolor=looks.series[0], label="layer")]
    if any(bar.has_children for bar in shown):
        kinds.append(Patch(facecolor="none", edgecolor=looks.series[0], label="with what is in it"))
    if any(bar.group.provenance in _UNSURE for bar in shown):
        kinds.append(Patch(facecolor="none", edgecolor=looks.series[0], hatch="////", label="weak or unresolved"))
    legend(ax, looks, kinds, "best")
    return about(report) + (f"; {left_out} smaller rows are not shown" if left_out > 0 else "")


def _bar(ax: Axes, looks: Look, position: int, shown: Bar, factor: float) -> None:
    group = shown.group
    value = factor * (group.energy_j or 0.0)
    colour = looks.series[0]
    (bar,) = ax.barh([position], [value], height=0.66, edgecolor=colour, linewidth=1)
    bar.set_label("_" + group.path)  # identifies the bar; a legend skips labels that begin with an underscore
    bar.set_facecolor("none" if shown.has_children else colour)
    if group.provenance in _UNSURE:
        bar.set(facecolor="none", hatch="////")
    if group.energy_low_j is not None and group.energy_high_j is not None:
        error = [[value - factor * group.energy_low_j], [factor * group.energy_high_j - value]]
        ax.errorbar([value], [position], xerr=error, fmt="none", ecolor=looks.ink, elinewidth=1.1, capsize=2.5)


def _names(ax: Axes, names: list[str]) -> None:
    """Write the names left-aligned, so that their indentation shows the tree."""
    size = min(8.0, 150 / len(names))
    ax.set_yticks(range(len(names)))
    ax.set_yticklabels(names, ha="left", fontsize=size)
    ax.tick_params(axis="y", length=0, pad=6 + max(width_pt(name, 0.95 * size) for name in names))


# ---- flame ----


@dataclass(frozen=True, slots=True)
class Frame:
    """A row in the flame graph; `left` and `width` are joules."""

    node: Node
    left: float
    width: float
    depth: int


def frames(root: Node, total: float, least: float) -> list[Frame]:
    """Return the frames of a tree: children are together no wider than their parent, the root as wide as the total.

    Rows with negative energy are not drawn; their siblings shrink in proportion, as in `joulemap export --format
    folded`. Frames narrower than `least` are left out, with their children.
    """
    result: list[Frame] = []
    waiting: list[tuple[Node, float, float, int]] = [(root, 0.0, total, 0)]
    while waiting:
        node, left, width, depth = waiting.pop()
        if node.row is not None:
            result.append(Frame(node, left, width, depth))
        energy = total if node.row is None else node.row.energy_j or 0.0
        children = [(child, max(0.0, child.row.energy_j or 0.0)) for child in node.children if child.row is not None]
        full = max(sum(child_j for _, child_j in children), energy)
        scale = width / full if full > 0 else 0.0
        for child, child_j in children:
            if child_j * scale > least:
                waiting.append((child, left, child_j * scale, depth + 1))
            left += child_j * scale
    return result


_COLOURED_TYPES = 4  # classes of layers with a colour of their own
_HAIR = 1 / 4000  # of the width: less than a pixel
_MAX_DEPTH = 40


def energy_flame(ax: Axes, looks: Look, report: Report) -> str:
    """Draw rows as frames whose width is their energy, each on top of its parent."""
    from matplotlib.patches import Patch

    total = total_of(report)
    if total <= 0:
        raise CannotDrawError("the total of this run is not above zero")
    drawn = [f for f in frames(report.tree(), total, total * _HAIR) if f.depth <= _MAX_DEPTH]
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
    """Return colours for the classes of layers with the most energy without children."""
    own_j: dict[str, float] = {}
    for row in report:
        if _kind(row):
            own_j[_kind(row)] = own_j.get(_kind(row), 0.0) + (row.energy_self_j or 0.0)
    largest = sorted((kind for kind in own_j if own_j[kind] > 0), key=lambda kind: own_j[kind], reverse=True)
    return dict(zip(largest[:_COLOURED_TYPES], looks.series, strict=False))


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
    """Write as much of a frame's name as fits."""
    size = 7.0
    letters = int(1.15 * axes_width_pt(ax) * share / width_pt("m", size)) - 1
    if letters >= min(5, len(name)):
        text = plain(name, letters)
        ax.text(left + 0.004, depth, text, transform=ax.get_yaxis_transform(), va="center", fontsize=size, color=colour)
