"""Draw what a command printed as a picture of a terminal (SVG, no fonts or scripts from elsewhere).

    joulemap report run.joulemap | python docs/pictures/terminal.py 'joulemap report run.joulemap' > report.svg
"""

from __future__ import annotations

import sys
from xml.sax.saxutils import escape

CHARACTER_WIDTH, LINE_HEIGHT, MARGIN = 8.4, 19, 18
NO_BREAK = "\u00a0"  # renderers fold plain spaces
BACKGROUND, TEXT, DIM, PROMPT = "#10151c", "#d6dee8", "#8494a7", "#6fc3a5"


def colour(line: str) -> str:
    """Headings and notes stand back; rows are what there is to read."""
    return DIM if line.startswith(("note", "±", "fit", "closure", " " * 10)) else TEXT


def draw(command: str, output: str) -> str:
    """Return the SVG."""
    lines = output.rstrip("\n").split("\n")
    columns = max(len(command) + 2, *(len(line) for line in lines))
    width = columns * CHARACTER_WIDTH + 2 * MARGIN
    height = (len(lines) + 2) * LINE_HEIGHT + 2 * MARGIN
    texts = [(f"$ {command}", PROMPT), ("", TEXT), *((line, colour(line)) for line in lines)]
    rows = "\n".join(
        f'<text x="{MARGIN}" y="{MARGIN + (i + 0.8) * LINE_HEIGHT:.1f}" fill="{fill}" '
        f'textLength="{len(line) * CHARACTER_WIDTH:.1f}">{escape(line).replace(" ", NO_BREAK)}</text>'
        for i, (line, fill) in enumerate(texts)
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
    sys.stdout.write(draw(sys.argv[1], sys.stdin.read()))
