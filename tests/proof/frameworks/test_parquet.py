"""`Report.to_parquet`, read back by pyarrow and by pandas."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import joulemap
import pyarrow.parquet
import pytest
from joulemap import _core
from recorded import KEYS, unpack


@pytest.mark.parametrize("by", KEYS)
@pytest.mark.parametrize("name", ["live", "small"])
def test_a_parquet_file_has_the_rows_and_adds_up_to_the_total(tmp_path: Path, name: str, by: str) -> None:
    report = joulemap.Recording(unpack(name, tmp_path)).report("layer")
    report.to_parquet(tmp_path / "rows.parquet", by=by)
    table = pyarrow.parquet.read_table(tmp_path / "rows.parquet")
    rows = joulemap.Recording(tmp_path / f"{name}.joulemap").report(by).rows
    wanted = [{key: getattr(row, field) for field, key, *_ in _core.ROW_FIELDS} for row in rows]
    assert table.to_pylist() == wanted
    told = json.loads(table.schema.metadata[b"joulemap"])
    assert sum(table.column("energy_self_j").to_pylist()) == pytest.approx(told["total_energy_j"], rel=1e-9)
    assert (told["version"], told["by"]) == (joulemap.__version__, by)
    assert told["quality"]["verdict"] == report.verdict and "rows" not in told


def test_columns_say_what_they_are_and_whether_they_may_be_missing(tmp_path: Path) -> None:
    joulemap.Recording(unpack("small", tmp_path)).report().to_parquet(tmp_path / "rows.parquet")
    schema = pyarrow.parquet.read_schema(tmp_path / "rows.parquet")
    units = {"energy_j": b"J", "busy_s": b"s", "power_w": b"W", "start_ns": b"ns"}
    for _, key, kind, text in _core.ROW_FIELDS:
        field = schema.field(key)
        assert field.metadata[b"description"].decode() == text
        assert field.nullable == kind.endswith("None")
        assert field.metadata.get(b"unit") == units.get(key, field.metadata.get(b"unit"))
    assert b"unit" not in schema.field("share").metadata


def test_without_pyarrow_one_line_says_what_to_install(tmp_path: Path) -> None:
    never = tmp_path / "never.parquet"
    code = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "import joulemap\n"
        f"joulemap.Recording({str(unpack('small', tmp_path))!r}).report().to_parquet({str(never)!r})"
    )
    failed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert failed.returncode == 1 and not never.exists()
    assert failed.stderr.splitlines()[-1] == (
        "ImportError: Parquet files need pyarrow: pip install 'joulemap[parquet]'"
    )
