"""A field of a report is told once: all views and docs/report.md have the same ones."""

from __future__ import annotations

import copy
import csv
import json
import pickle
import subprocess
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import joulemap
import pytest
from joulemap import _core
from joulemap._cli import native_folder

DOCS = Path(__file__).parents[2] / "docs" / "report.md"
TABLES = {"Rows": _core.ROW_FIELDS, "Totals": _core.TOTALS_FIELDS, "Quality": _core.QUALITY_FIELDS}


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("fields") / "run.joulemap"
    with joulemap.Session(path, sim="h200", cpu=False) as run, run.phase("work"), run.window("inside"):
        assert run.flush()
    return path


def printed(value: Any) -> Any:
    """What `value` reads back as: a text of 15 digits for a number."""
    return pytest.approx(value, rel=1e-14) if isinstance(value, float) else value


def exported(recording: Path, form: str, by: str) -> str:
    command = [str(native_folder() / "joulemap"), "export", str(recording), "--format", form, "--by", by]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


@pytest.mark.parametrize("by", _core.BY)
def test_json_and_python_say_the_same_of_each_row(recording: Path, by: str) -> None:
    rows = json.loads(exported(recording, "json", by))["rows"]
    told = joulemap.Recording(recording).report(by).rows
    assert len(told) == len(rows) > 0
    names = [name for name, *_ in _core.ROW_FIELDS if by in ("span", "request") or name not in ("start_ns", "end_ns")]
    for row, one in zip(rows, told, strict=True):
        assert list(row) == names
        assert row == {name: printed(getattr(one, name)) for name in names}


def test_csv_has_a_column_for_each_field_and_says_if_simulated(recording: Path) -> None:
    header, *lines = csv.reader(exported(recording, "csv", "phase").splitlines())
    told = joulemap.Recording(recording).report("phase").rows
    assert header == [key for _, key, *_ in _core.ROW_FIELDS] + ["simulated"]
    assert len(lines) == len(told) > 0
    for line, row in zip(lines, told, strict=True):
        for cell, (name, _, kind, _) in zip(line, _core.ROW_FIELDS, strict=False):
            value = getattr(row, name)
            if value is None:
                assert cell == ""
            else:
                assert (cell if kind == "str" else float(cell)) == printed(value)
        assert line[-1] == "true"


def test_json_has_each_total_and_quality_under_its_key(recording: Path) -> None:
    whole = json.loads(exported(recording, "json", "layer"))
    report = joulemap.Recording(recording).report("layer")
    places: list[dict[str, Any]] = [whole, whole["quality"], whole["overhead"]]
    for record, fields in ((report.totals, _core.TOTALS_FIELDS), (report.quality, _core.QUALITY_FIELDS)):
        for name, key, *_ in fields:
            found = [place[key] for place in places if key in place]
            assert found, f"{name} is nowhere in JSON"
            assert all(one == printed(getattr(record, name)) for one in found), name
    keys = {key for place in places for key in place}
    known = {key for _, key, *_ in _core.TOTALS_FIELDS + _core.QUALITY_FIELDS}
    assert keys - known == {"version", "by", "phase", "quality", "overhead", "notes", "stages", "rows", "groups"}


def test_the_page_on_reports_lists_all_fields_in_the_words_of_the_core() -> None:
    page = DOCS.read_text(encoding="utf-8")
    for title, fields in TABLES.items():
        section = page.split(f"## {title}\n", 1)[1].split("\n## ", 1)[0]
        listed = [line for line in section.splitlines() if line.startswith("| `")]
        wanted = [
            f"| `{name}` | `{key}` | {kind.replace(' | ', ' or ')} | {text} |" for name, key, kind, text in fields
        ]
        assert listed == wanted, f"docs/report.md, {title}: write these lines\n" + "\n".join(wanted)


def test_a_row_is_documented_frozen_and_can_be_copied_and_pickled(recording: Path) -> None:
    row = joulemap.Recording(recording).report("phase").rows[0]
    assert pickle.loads(pickle.dumps(row)) == row == copy.deepcopy(row)
    assert repr(row).startswith("<joulemap.types.Row phase 'work': ")
    with pytest.raises(FrozenInstanceError):
        row.name = "other"  # type: ignore[misc]
    for kind, fields in ((joulemap.types.Row, _core.ROW_FIELDS), (joulemap.types.Totals, _core.TOTALS_FIELDS)):
        assert kind.__module__ == "joulemap._row_types"
        for name, _, _, text in fields:
            assert f"{name} : " in (kind.__doc__ or "")
            assert text in (kind.__doc__ or "")
