"""Three programs on real GPUs (tests/data/runs): each format is read by its reader, and adds up to the total."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import joulemap
import pytest
from recorded import export, query, report, unpack
from test_export_perfetto import ROWS_WITHOUT_A_SPAN, WORK, read
from test_export_pprof import Profile, profile_class
from test_schema import validator

__all__ = ["profile_class"]  # a fixture

CLOSE = 0.005  # issue 8: within 0.5 %


@pytest.fixture(scope="module", params=["llama", "cnn", "pair"])
def recording(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack(request.param, tmp_path_factory.mktemp("recording"))


@pytest.fixture(scope="module")
def total_j(recording: Path) -> float:
    with joulemap.Recording(recording) as file:
        total = file.report().totals.total_energy_j
    assert total is not None and total > 100
    return total


def test_json_is_as_its_schema_says_and_rows_add_up(recording: Path, total_j: float) -> None:
    for by in ("layer", "phase"):
        whole = report(recording, "--by", by)
        validator("report").validate(whole)
        assert sum(row["energy_self_j"] for row in whole["rows"]) == pytest.approx(total_j, rel=1e-9)
    assert not whole["simulated"]


def test_csv(recording: Path, total_j: float) -> None:
    rows = list(csv.DictReader(io.StringIO(export(recording, "csv").decode())))
    assert sum(float(row["energy_self_j"]) for row in rows) == pytest.approx(total_j, rel=CLOSE)


def test_folded_stacks(recording: Path, total_j: float) -> None:
    lines = export(recording, "folded").decode().splitlines()
    assert sum(int(line.rsplit(" ", 1)[1]) for line in lines) * 1e-6 == pytest.approx(total_j, rel=CLOSE)


def test_openmetrics(recording: Path, total_j: float) -> None:
    lines = export(recording, "openmetrics").decode().splitlines()
    joules = [float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith("joulemap_energy_joules_total{")]
    assert lines[-1] == "# EOF"
    assert sum(joules) == pytest.approx(total_j, rel=CLOSE)


def test_pprof(recording: Path, total_j: float, profile_class: type) -> None:
    samples = Profile(export(recording, "pprof"), profile_class).samples
    assert sum(values[0] for _, values, _ in samples) * 1e-6 == pytest.approx(total_j, rel=CLOSE)


def test_traces(recording: Path, total_j: float) -> None:
    rows = report(recording, "--by", "span")["rows"]
    rest = sum(row["energy_self_j"] for row in rows if row["kind"] in ROWS_WITHOUT_A_SPAN)
    perfetto = read(export(recording, "perfetto"))
    own = sum(one.says["energy_self_j"] for one in perfetto.slices if one.kind not in WORK)
    assert own + rest == pytest.approx(total_j, rel=CLOSE)
    kernels = query(recording, "SELECT count(*) FROM kernels")[0][0]
    assert sum(one.kind in WORK for one in perfetto.slices) == kernels > 10_000
    chrome = json.loads(export(recording, "chrome"))
    assert chrome["otherData"]["total_energy_j"] == pytest.approx(total_j, rel=CLOSE)
    assert sum(one["ph"] == "X" and one["cat"] in WORK for one in chrome["traceEvents"]) == kernels
    spans = [one for one in chrome["traceEvents"] if one["ph"] == "X" and one["cat"] not in WORK]
    own = sum(one["args"]["energy_self_j"] for one in spans)
    assert own + rest == pytest.approx(total_j, rel=CLOSE)
