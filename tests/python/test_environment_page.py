"""docs/environment.md names the environment variables that the sources read or set, and no other."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
READ = re.compile(r'getenv\(\s*"([A-Z][A-Z0-9_]*)"|environ(?:\.\w+)?[\[(]\s*"([A-Z][A-Z0-9_]*)"')
OURS = re.compile(r'"((?:JOULEMAP|KOKKOS|XDG|CUDA|NVTX|ACC|OMPI|SLURM|RANK|LOCAL)_?[A-Z0-9_]*[A-Z])=?"')
NO_VARIABLES = {"CUDA_VERSION", "CUDA"}  # words that look like one


def variables_of_sources() -> set[str]:
    found: set[str] = set()
    for folder in ("src", "tools", "sim", "python"):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in (".c", ".h", ".py"):
                text = path.read_text(errors="replace")
                found |= {name for groups in READ.findall(text) for name in groups if name}
                found |= set(OURS.findall(text))
    return found - NO_VARIABLES


def variables_of_page() -> list[str]:
    rows = re.findall(r"^\| (`[^|]+) \|", (ROOT / "docs/environment.md").read_text(), re.MULTILINE)
    return [name for row in rows for name in re.findall(r"`([A-Z0-9_]+)`", row)]


def test_the_page_has_each_variable_of_the_sources_once() -> None:
    page = variables_of_page()
    assert len(page) == len(set(page))
    assert set(page) == variables_of_sources()


def test_each_row_says_meaning_default_and_reader() -> None:
    for line in (ROOT / "docs/environment.md").read_text().splitlines():
        if line.startswith("| `"):
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            assert len(cells) == 4 and cells[1] and cells[3], line
            assert set(cells[3].split(", ")) <= {"command", "program", "simulator", "Python"}, line
