"""Pictures of terminals: columns stay columns, whatever draws them."""

import re
import sys
from pathlib import Path
from xml.etree import ElementTree

PICTURES = Path(__file__).parents[2] / "docs/pictures"
sys.path.insert(0, str(PICTURES))
import terminal  # noqa: E402


def test_the_picture_is_what_the_command_printed() -> None:
    drawn = terminal.draw((PICTURES / "report.txt").read_text(encoding="utf-8"))
    assert (PICTURES / "report.svg").read_text(encoding="utf-8") == drawn


def test_words_stand_at_their_columns_without_any_space_that_a_renderer_may_drop() -> None:
    printed = "head      J\n  attn  1.0\n    <qkv> 2"
    svg = ElementTree.fromstring(terminal.draw(printed))
    lines = []
    for text in svg.iter("{http://www.w3.org/2000/svg}text"):
        line = ""
        for word in text:
            assert word.text is not None
            assert re.fullmatch(r"\S+", word.text)
            column = round((float(word.attrib["x"]) - terminal.MARGIN) / terminal.CHARACTER_WIDTH)
            line = line.ljust(column) + word.text
        lines.append(line)
    assert "\n".join(lines) == printed
