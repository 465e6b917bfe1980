"""Figures of a steady step, and the parts of a run, in Python and in the exports."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import joulemap
import pytest
from recorded import unpack


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack("llama", tmp_path_factory.mktemp("steps"))


@pytest.mark.parametrize("by", ["layer", "kernel", "type", "phase", "board"])
def test_rows_of_a_step_add_up_to_it(llama: Path, by: str) -> None:
    report = joulemap.Recording(llama).report(by)
    top = [row for row in report.rows if row.depth == 0]
    assert sum(row.step_j for row in top if row.step_j is not None) == pytest.approx(report.totals.steady_step_j)


@pytest.mark.parametrize("by", ["span"])
def test_a_span_has_its_own_joules_and_none_of_a_step(llama: Path, by: str) -> None:
    report = joulemap.Recording(llama).report(by, phase="write")
    assert {row.step_j for row in report.rows} == {None}


def test_the_parts_of_a_run_add_up_to_it(llama: Path) -> None:
    report = joulemap.Recording(llama).report()
    totals = report.totals
    stages = {stage.name: stage for stage in report.stages}
    assert sum(stage.energy_j for stage in report.stages) == pytest.approx(totals.total_energy_j, rel=1e-12)
    assert sum(stage.seconds or 0 for stage in report.stages) == pytest.approx(totals.duration_s, rel=1e-6)
    assert stages["steady steps"].steps == totals.steady_steps
    assert totals.steady_step_j is not None
    assert totals.steady_steps is not None
    assert stages["steady steps"].energy_j == pytest.approx(totals.steady_steps * totals.steady_step_j)
    for one, stage in zip(report.to_dict()["stages"], report.stages, strict=True):
        assert one == pytest.approx(stage._asdict())
    assert all(stage.energy_j > 0 for name, stage in stages.items() if name != "unresolved")


def test_tables_for_other_programs_have_the_columns_of_a_step(llama: Path) -> None:
    recording = joulemap.Recording(llama)
    report = recording.report()
    rows = list(csv.DictReader(io.StringIO(report.to_csv())))
    for row, line in zip(report.rows, rows, strict=True):
        assert (None if line["step_j"] == "" else float(line["step_j"])) == pytest.approx(row.step_j)
    pandas = pytest.importorskip("pandas")
    frame = report.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert {"step_s", "step_j", "step_low_j", "step_high_j"} <= set(frame.columns)
    groups = {group.path: group for group in report.groups()}
    layer = groups["model.layers.*"]
    assert layer.step_j is not None
    assert layer.step_low_j is not None
    assert layer.step_high_j is not None
    assert layer.step_low_j < layer.step_j < layer.step_high_j
    assert layer.step_j == pytest.approx(sum(report.rows[row].step_j or 0 for row in layer.rows))
