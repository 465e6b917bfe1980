"""The pages of documentation, apart from what they tell to type (tests/proof/pages does that)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_links_headings_and_paths_of_all_pages_lead_somewhere() -> None:
    done = subprocess.run([sys.executable, ROOT / "scripts/check-docs"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_every_page_of_tasks_is_in_the_table_of_contents() -> None:
    contents = (ROOT / "docs/README.md").read_text()
    pages = sorted((ROOT / "docs/tasks").glob("*.md"))
    assert [page.name for page in pages if f"tasks/{page.name}" not in contents] == []
