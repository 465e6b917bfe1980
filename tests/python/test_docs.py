"""The pages of documentation, apart from what they tell to type (tests/proof/pages does that)."""

from __future__ import annotations

import re
from pathlib import Path

import joulemap

ROOT = Path(__file__).parents[2]


def test_links_of_all_pages_lead_somewhere() -> None:
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
    for page in pages:
        for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text()):
            assert "://" in link or (page.parent / link).exists(), f"{page.name}: {link}"


def test_every_page_of_tasks_is_in_the_table_of_contents() -> None:
    contents = (ROOT / "docs/README.md").read_text()
    pages = sorted((ROOT / "docs/tasks").glob("*.md"))
    assert [page.name for page in pages if f"tasks/{page.name}" not in contents] == []


def test_the_page_names_all_that_is_public() -> None:
    page = (ROOT / "docs/python.md").read_text(encoding="utf-8")
    names = [name for name in joulemap.__all__ if not name.startswith("__") and name != "types"]
    missing = [name for name in names if f"`{name}" not in page]
    assert missing == []
