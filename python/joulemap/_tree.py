"""The rows of a report as a tree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from joulemap._row_types import Row

_SHOWN_DIGITS = 4


class Node:
    """A row and its children.

    Iterating yields the nodes below it, parents before their children; `str()` draws the tree.

    Attributes
    ----------
    row : Row or None
        The row; None at the root.
    children : list of Node
        In the order of the report.
    """

    __slots__ = ("children", "row")

    def __init__(self, row: Row | None) -> None:
        self.row = row
        self.children: list[Node] = []

    def __iter__(self) -> Iterator[Node]:
        waiting = self.children[::-1]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(reversed(node.children))

    def __str__(self) -> str:
        nodes = [self, *self] if self.row is not None else list(self)
        top = min((node.row.depth for node in nodes if node.row is not None), default=0)
        return "\n".join(_line(node.row, top) for node in nodes if node.row is not None)

    def __repr__(self) -> str:
        name = "all rows" if self.row is None else f"{self.row.path!r} ({self.row.kind})"
        return f"<joulemap.types.Node {name}: {len(self.children)} children>"


def _line(row: Row, top: int) -> str:
    energy = "energy not known" if row.energy_j is None else f"{row.energy_j:.{_SHOWN_DIGITS}g} J"
    share = "" if row.share is None else f", {100 * row.share:.1f} %"
    return f"{'  ' * (row.depth - top)}{row.name}: {energy}{share}"


def grow(rows: Sequence[Row]) -> Node:
    """Return the root of a tree of rows that are in pre-order."""
    root = Node(None)
    above = [root]  # by depth
    for row in rows:
        node = Node(row)
        del above[row.depth + 1 :]
        above[-1].children.append(node)
        above.append(node)
    return root
