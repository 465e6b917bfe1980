"""The figure that compares two runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from joulemap import _arguments
from joulemap._diff import Diff, DiffRow
from joulemap.plots.style import CannotDrawError, Look, joules, legend, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def _larger_j(row: DiffRow) -> float:
    return max(abs(row.a_j or 0.0), abs(row.b_j or 0.0))


def _change(row: DiffRow) -> str:
    """Return the change with its interval and the verdict."""
    if row.change is None:
        return row.verdict
    if row.change_low is None or row.change_high is None:
        return f"{100 * row.change:+.3g} %"
    return f"{100 * row.change:+.3g} ±{50 * (row.change_high - row.change_low):.2g} %  {row.verdict}"


def two_runs(ax: Axes, looks: Look, diff: Diff, *, limit: int = 9, names: tuple[str, str] = ("A", "B")) -> str:
    """Draw the largest rows of both runs side by side, with intervals and changes."""
    limit = max(1, _arguments.whole("limit", limit))
    rows = [row for row in diff.rows if _larger_j(row) > 0]
    chosen = {id(row) for row in sorted(rows, key=_larger_j, reverse=True)[:limit]}
    shown = [diff.total, *(row for row in rows if id(row) in chosen)]
    if not any(_larger_j(row) > 0 for row in shown):
        raise CannotDrawError("no row of the two runs has any energy")
    factor, unit = joules(max(map(_larger_j, shown)))
    _side(ax, looks, [(row.a_j, row.a_low_j, row.a_high_j) for row in shown], factor, 0, plain(names[0], 24))
    _side(ax, looks, [(row.b_j, row.b_low_j, row.b_high_j) for row in shown], factor, 1, plain(names[1], 24))
    for position, row in enumerate(shown):
        ends = [row.a_j, row.a_high_j, row.b_j, row.b_high_j]
        end = factor * max(value for value in ends if value is not None) if any(v is not None for v in ends) else 0.0
        ax.annotate(
            _change(row),
            (end, position),
            (5, 0),
            textcoords="offset points",
            va="center",
            fontsize=7.5,
            color=looks.ink,
        )
    ax.set_yticks(range(len(shown)))
    ax.set_yticklabels(["all", *(plain(row.path, 34) for row in shown[1:])])
    ax.set_ylim(len(shown) - 0.4, -0.6)
    ax.set_xlim(0, 1.5 * factor * max(map(_larger_j, shown)))
    ax.grid(False, axis="y")
    ax.set_xlabel(f"energy a {diff.per} ({unit}), with 95 % intervals")
    legend(ax, looks)
    left_out = len(rows) - len(shown) + 1
    same = "same GPU" if diff.gpu == "same" else f"GPUs: {diff.gpu}"
    return same + (f"; {left_out} smaller rows are not shown" if left_out > 0 else "")


def _side(
    ax: Axes,
    looks: Look,
    values: list[tuple[float | None, float | None, float | None]],
    factor: float,
    number: int,
    name: str,
) -> None:
    known = [(position, *value) for position, value in enumerate(values) if value[0] is not None]
    positions = [row[0] + (0.19 if number else -0.19) for row in known]
    energy = [factor * (row[1] or 0.0) for row in known]
    colour = looks.series[number]
    face = colour if number == 0 else "none"
    hatch = None if number == 0 else "////"
    ax.barh(positions, energy, height=0.36, facecolor=face, edgecolor=colour, hatch=hatch, linewidth=1, label=name)
    with_interval = [k for k, row in enumerate(known) if row[2] is not None and row[3] is not None]
    error = [
        [energy[k] - factor * (known[k][2] or 0.0) for k in with_interval],
        [factor * (known[k][3] or 0.0) - energy[k] for k in with_interval],
    ]
    if with_interval:
        ax.errorbar(
            [energy[k] for k in with_interval],
            [positions[k] for k in with_interval],
            xerr=error,
            fmt="none",
            ecolor=looks.ink,
            elinewidth=1.1,
            capsize=2.5,
        )
