"""Draw the output of commands as a picture of a terminal: SVG, without external fonts or scripts.

    python docs/pictures/terminal.py docs/pictures/report.txt docs/pictures/report.svg

A line that begins with "$ " is a command. Each word is placed by its column: renderers differ in their treatment of
spaces (librsvg drops those that begin a line), and in the width of their font.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from xml.sax.saxutils import escape

CHARACTER_WIDTH, LINE_HEIGHT, MARGIN = 8.4, 19, 18
BACKGROUND, TEXT, DIM, PROMPT = "#10151c", "#d6dee8", "#8494a7", "#6fc3a5"


def colour(line: str) -> str:
    """Return the colour of a line: headings and notes are dim, rows are bright."""
    if line.startswith("$ "):
        return PROMPT
    return DIM if re.match(r"note|±|\d+ more|(layer|phase|type|kernel) .*known$| {10}", line) else TEXT


def words(line: str) -> str:
    """Return the words of a line, each at its column and as wide as its columns."""
    return "".join(
        f'<tspan x="{MARGIN + word.start() * CHARACTER_WIDTH:.1f}" '
        f'textLength="{len(word[0]) * CHARACTER_WIDTH:.1f}">{escape(word[0])}</tspan>'
        for word in re.finditer(r"\S+", line)
    )


def draw(printed: str) -> str:
    """Return the SVG."""
    lines = printed.rstrip("\n").split("\n")
    width = max(len(line) for line in lines) * CHARACTER_WIDTH + 2 * MARGIN
    height = len(lines) * LINE_HEIGHT + 2 * MARGIN
    rows = "\n".join(
        f'<text y="{MARGIN + (i + 0.8) * LINE_HEIGHT:.1f}" fill="{colour(line)}">{words(line)}</text>'
        for i, line in enumerate(lines)
        if line
    )
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}">
<rect width="100%" height="100%" rx="8" fill="{BACKGROUND}"/>
<g font-family="ui-monospace, DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="14">
{rows}
</g>
</svg>
"""


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(draw(Path(sys.argv[1]).read_text()), encoding="utf-8")
