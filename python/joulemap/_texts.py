"""Figures as people read them, as text and as HTML for notebooks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

_PREFIXES = ((1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "u"))
_LEFT = ' style="text-align:left;font-weight:normal"'
_RIGHT = ' style="text-align:right;padding-left:1em"'


def energy_text(energy_j: float | None, low_j: float | None, high_j: float | None) -> str:
    """Return an energy as people read it: "12.34 ±0.31 kJ", with two digits of its 95 % interval."""
    if energy_j is None:
        return "unknown energy"
    half_j = None if low_j is None or high_j is None else (high_j - low_j) / 2
    size, prefix = next((one for one in _PREFIXES if abs(energy_j) >= one[0]), _PREFIXES[2])
    if half_j is None or half_j <= 0:
        return f"{energy_j / size:.4g} {prefix}J"
    decimals = max(0, 1 - math.floor(math.log10(half_j / size)))
    return f"{energy_j / size:.{decimals}f} ±{half_j / size:.{decimals}f} {prefix}J"


def share_text(share: float | None) -> str:
    """Return a share as percent: "5.4 %"; empty if it is not known."""
    return "" if share is None else f"{100 * share:.3g} %"


def seconds_text(seconds: float) -> str:
    """Return a time as people read it: "12.3 ms", "0.52 s", "7213 s"."""
    if seconds < 0.1:
        return f"{1e3 * seconds:.3g} ms"
    return f"{seconds:.0f} s" if seconds >= 100 else f"{seconds:.3g} s"


def html_table(caption: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of HTML, whose rows begin with a name. Without colours it suits dark and light pages."""
    from html import escape  # a tenth of what `import joulemap` takes

    def line(cells: Iterable[str], tag: str, place: str) -> str:
        name, *others = (escape(cell) for cell in cells)
        figures = "".join(f"<{tag}{_RIGHT}>{cell}</{tag}>" for cell in others)
        return f'<tr><th scope="{place}"{_LEFT}>{name}</th>{figures}</tr>\n'

    lines = "".join(line(cells, "td", "row") for cells in rows)
    first = f"<thead>{line(head, 'th', 'col')}</thead>\n" if head else ""
    body = f"<table>{first}<tbody>\n{lines}</tbody></table>\n" if head or lines else ""
    return f'<div class="joulemap">\n<p>{escape(caption)}</p>\n{body}</div>\n'
