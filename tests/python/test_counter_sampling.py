"""What sampling hardware counters drew is a row of its own: rows add up to what the meter says."""

from __future__ import annotations

import lzma
from pathlib import Path

import joulemap
import pytest
from values import known

RUNS = Path(__file__).parents[1] / "data" / "runs"


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> joulemap.Recording:
    """Return a training and a generation on an H100, sampled four times."""
    path = tmp_path_factory.mktemp("runs") / "llama.joulemap"
    path.write_bytes(lzma.decompress((RUNS / "llama.joulemap.xz").read_bytes()))
    return joulemap.Recording(path)


@pytest.mark.parametrize("by", ["layer", "type", "kernel", "span"])
def test_rows_add_up_to_the_total_with_a_row_for_sampling(llama: joulemap.Recording, by: str) -> None:
    report = llama.report(by=by)
    tops = [row for row in report.rows if row.depth == 0]
    sampling = [row for row in tops if row.kind == "sampling"]
    assert sum(known(row.energy_j) for row in tops) == pytest.approx(known(report.totals.total_energy_j), rel=1e-6)
    assert [row.name for row in sampling] == ["(counter sampling)"]
    assert 30 < known(sampling[0].power_w) < 40  # this board at rest: 35 W
    assert known(sampling[0].energy_low_j) < known(sampling[0].energy_j) < known(sampling[0].energy_high_j)
    assert known(report.quality.sampler_energy_j) == pytest.approx(known(sampling[0].energy_j))


def test_the_total_is_the_counters(llama: joulemap.Recording) -> None:
    totals = llama.report(by="layer").totals
    counter = next(s for s in llama.timeline().series if s.name == "energy_counter")
    measured_j = counter.values[-1] - counter.values[0]
    mean_w = measured_j / ((counter.t_ns[-1] - counter.t_ns[0]) * 1e-9)
    assert known(totals.total_energy_j) / known(totals.duration_s) == pytest.approx(mean_w, rel=0.005)


def test_phases_have_their_part_of_it(llama: joulemap.Recording) -> None:
    report = llama.report(by="phase")
    sampled_j = sum(known(row.energy_j) for row in report.rows if row.kind == "sampling")
    whole_j = known(llama.report(by="layer").quality.sampler_energy_j)
    tops_j = sum(known(row.energy_j) for row in report.rows if row.depth == 0)
    assert sampled_j == pytest.approx(whole_j, rel=0.05)
    assert tops_j == pytest.approx(known(report.totals.total_energy_j), rel=1e-6)
    train = next(row for row in report.rows if row.path == "train")
    span = next(span for span in llama.timeline().spans if span.kind == "phase" and span.name == "train")
    assert train.busy_s == pytest.approx(1e-9 * (span.end_ns - span.start_ns), rel=0.01)  # time of others, counted once


def test_steps_have_no_part_of_it(llama: joulemap.Recording) -> None:
    report = llama.report(by="layer")
    own_j = known(report.quality.sampler_energy_j)
    each = next(line for line in report.table().splitlines() if line.startswith("each"))
    step_j = known(report.totals.steady_step_j)
    assert f"{step_j:.2f}" in each
    # In the steady steps of `train` counters were sampled for a part of the time: that is in the meter's joules alone.
    train = next(row for row in llama.report(by="phase") if row.path == "train")
    assert 0 < own_j < known(train.energy_j) - step_j * known(report.totals.steady_steps)


def test_without_sampling_there_is_no_such_row() -> None:
    with joulemap.Session(sim="h200", counters=False, cpu=False) as run, run.step():
        pass
    report = run.report(by="layer")
    assert not [row for row in report.rows if row.kind == "sampling"]
    assert report.quality.sampler_energy_j is None
