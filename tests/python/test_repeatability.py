"""Repeated runs, and totals by fewer readings, against sums done by hand; the CPU's energy of a recording."""

from __future__ import annotations

import math
import sqlite3
import subprocess
import time
from pathlib import Path

import joulemap
import pytest
from joulemap._cli import native_folder
from joulemap._repeatability import Repeatability
from recorded import unpack


def test_figures_are_those_of_a_textbook() -> None:
    found = joulemap.repeatability([2, 4, 4, 4, 5, 5, 7, 9])
    assert (found.count, found.warm_up, found.outliers) == (8, 0, ())
    assert (found.median_j, found.mean_j, found.least_j, found.most_j) == (4.5, 5, 2, 9)
    assert found.deviation_j == pytest.approx(math.sqrt(32 / 7))
    assert found.cv == pytest.approx(math.sqrt(32 / 7) / 5)
    assert found.low_j is not None
    assert found.low_j == pytest.approx(5 - 2.3646 * math.sqrt(32 / 7 / 8), abs=1e-3)  # Student's t of 7


def test_warm_up_and_outliers_are_told_apart() -> None:
    steady = [100.0, 100.4, 99.7, 100.2, 99.9, 100.1, 99.8, 100.3, 100.0, 99.6]
    found = joulemap.repeatability([130.0, *steady[:5], 109.0, *steady[5:]])
    assert found.warm_up == 1
    assert found.outliers == (6,)
    assert found.steady_j[0] == 100.0
    assert found.count == 11
    assert found.median_j == 100.0
    text = str(found)
    assert "12 runs, the first 1 a warm-up" in text
    assert "run 6 is an outlier: 109 J, +9.0 % off the median" in text
    assert not found.drifts
    assert joulemap.repeatability([10.0, 11.1, 11.9, 13.0, 14.1]).drifts


def test_few_runs_tell_less() -> None:
    one = joulemap.repeatability([3.0])
    assert (one.median_j, one.low_j, one.deviation_j, one.cv, one.slope_j) == (3.0, None, None, None, None)
    assert str(one).startswith("1 run\n")
    with pytest.raises(ValueError, match="empty"):
        joulemap.repeatability([])
    with pytest.raises(ValueError, match="not known"):
        joulemap.repeatability([joulemap.types.Sum(None, None, None)])
    with pytest.raises(TypeError, match="a run is its joules"):
        joulemap.repeatability([True])
    with pytest.raises(joulemap.Error):
        joulemap.repeatability(["missing.joulemap"])


@pytest.fixture
def steady(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> float:
    """A board that draws 400 W."""
    script = tmp_path / "power.csv"
    script.write_text("0,36000,400,work\n")
    monkeypatch.setenv("JOULEMAP_SIM", "h200")
    monkeypatch.setenv("JOULEMAP_SIM_SCRIPT", str(script))
    return 400.0


def test_a_function_is_repeated_and_measured(steady: float) -> None:
    begins, ends = [], []

    def work() -> None:
        begins.append(time.monotonic())
        time.sleep(0.05)
        ends.append(time.monotonic())

    before_s = time.monotonic()
    found = joulemap.repeat(work, 5)
    after_s = time.monotonic()
    assert len(begins) == 5
    assert isinstance(found, Repeatability)
    # A run's joules are those of its call, and of less than from the end of the one before to the next one's begin.
    since, until = [before_s, *ends[:-1]], [*begins[1:], after_s]
    for joules, begin_s, end_s, since_s, until_s in zip(found.joules, begins, ends, since, until, strict=True):
        assert 0.97 * steady * (end_s - begin_s) < joules < 1.03 * steady * (until_s - since_s)
    assert joulemap.current_session() is None
    with pytest.raises(TypeError, match="callable"):
        joulemap.repeat("work")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="runs"):
        joulemap.repeat(work, 0)


def test_runs_are_taken_as_what_people_have(steady: float, tmp_path: Path) -> None:
    path = tmp_path / "run.joulemap"
    with joulemap.Session(path, cpu=False) as run, run.window("w") as window:
        time.sleep(0.05)
    with joulemap.Recording(path) as recording:
        total_j = recording.report("board").totals.total_energy_j
        found = joulemap.repeatability([path, recording, recording.report("layer"), run, window])
    assert total_j is not None
    assert found.joules[:4] == pytest.approx([total_j] * 4)
    assert found.joules[4] == window.joules  # now that no later reading comes


def imported(tmp_path: Path, watts: list[float]) -> Path:
    """A recording of readings, one each 20 ms."""
    readings = tmp_path / "readings.csv"
    lines = "".join(f"power_ring,{0.02 * i:.2f},{value}\n" for i, value in enumerate(watts))
    readings.write_text("sensor,t_s,value\n" + lines)
    target = tmp_path / "imported.joulemap"
    command = [str(native_folder() / "joulemap"), "import", "--board", "h200", "--readings", str(readings)]
    subprocess.run([*command, "-o", str(target)], check=True, capture_output=True)
    return target


def test_polls_in_step_with_the_load_are_shown_wrong(tmp_path: Path) -> None:
    # 200 ms of each second at 500 W, else 100 W, for 20 s and a reading: 180 W in the mean.
    path = imported(tmp_path, [500.0 if i % 50 < 10 else 100.0 for i in range(1001)])
    found = joulemap.Recording(path).sampling_sensitivity(intervals_s=(0.02, 0.1, 1.0))
    assert found.duration_s == pytest.approx(20)
    assert found.period_s == pytest.approx(0.02)
    assert found.energy_j == pytest.approx(20 * 180, rel=0.002)
    fine, tenth, second = found
    assert fine.error < 0.005
    assert tenth.error < 0.02
    assert (second.least_j, second.most_j) == (2000, 10000)  # a poll a second sees one part of each
    assert second.worst == pytest.approx(10000 / 3600 - 1, rel=0.01)
    assert second.error == pytest.approx(math.sqrt((13 * 1600**2 + 3 * 6400**2) / 16) / 3600, rel=0.05)
    assert "read every" in str(found)
    assert str(found).count("\n") == 4


def test_a_stretch_and_a_steady_load_need_few_readings(tmp_path: Path) -> None:
    path = imported(tmp_path, [400.0] * 500)
    with joulemap.Recording(path) as recording:
        part = recording.sampling_sensitivity(from_ns=10**9, to_ns=3 * 10**9)
        assert part.energy_j == pytest.approx(800)
        assert all(row.error < 1e-9 for row in part)
        with pytest.raises(LookupError, match="GPU 5"):
            recording.sampling_sensitivity(gpu=5)
        with pytest.raises(ValueError, match="interval"):
            recording.sampling_sensitivity(intervals_s=(0,))
        with pytest.raises(ValueError, match="empty"):
            recording.sampling_sensitivity(intervals_s=())


def test_readings_of_a_stretch_are_those_of_the_timeline(tmp_path: Path) -> None:
    with joulemap.Recording(unpack("live", tmp_path)) as recording:
        whole = recording.timeline()
        begin, end = whole.start_ns + 200_000_000, whole.end_ns - 200_000_000
        part = recording.readings(begin, end)
        assert (part.start_ns, part.end_ns, part.spans, part.marks) == (begin, end, [], [])
        assert [series.name for series in part.series] == [series.name for series in whole.series]
        for some, every in zip(part.series, whole.series, strict=True):
            assert list(some) == [(t_ns, value) for t_ns, value in every if begin <= t_ns <= end]
        assert len(part.readings("temperature")) > 2
        with pytest.raises(ValueError, match="before"):
            recording.readings(end, begin)


def add_cpu(path: Path, watts: float) -> None:
    """Add a package of a CPU, by RAPL, that draws so much all the time."""
    with sqlite3.connect(path) as file:

        def copy(table: str, **changed: object) -> None:
            columns = [row[1] for row in file.execute(f"PRAGMA table_info({table})")]
            which = "" if table == "boards" else "WHERE name = 'energy_counter'"
            values = file.execute(f"SELECT * FROM {table} {which}").fetchone()
            row = dict(zip(columns, values, strict=True)) | changed
            places = ",".join("?" * len(columns))
            file.execute(f"INSERT INTO {table} VALUES ({places})", [row[name] for name in columns])

        sensor = file.execute("SELECT max(id) + 1 FROM sensors").fetchone()[0]
        copy("boards", id=2, backend="rapl", name="package-0", uuid="", board_index=0, cuda_index=None)
        copy("sensors", id=sensor, board_id=2)
        begin, end = file.execute("SELECT min(t_ns), max(t_ns) FROM readings").fetchone()
        stamps = range(begin, end, 100_000_000)
        file.executemany(
            "INSERT INTO readings (sensor_id, t_ns, value) VALUES (?, ?, ?)",
            [(sensor, t_ns, 1e-9 * watts * (t_ns - begin)) for t_ns in stamps],
        )


def test_the_cpus_energy_is_told_apart(tmp_path: Path) -> None:
    path = unpack("live", tmp_path)
    with joulemap.Recording(path) as recording:
        timeline = recording.timeline()
        begin, end = timeline.start_ns + 300_000_000, timeline.end_ns - 300_000_000
        assert recording.energy(begin, end, cpu=True) == joulemap.types.Sum(None, None, None)
        gpu = recording.energy(begin, end)
        with pytest.raises(ValueError, match="exclude"):
            recording.energy(begin, end, cpu=True, gpu=0)
    add_cpu(path, 50)
    with joulemap.Recording(path) as recording:
        cpu = recording.energy(begin, end, cpu=True)
        assert cpu.energy_j == pytest.approx(50e-9 * (end - begin), rel=0.01)
        assert recording.energy(begin, end, gpu=0).energy_j == pytest.approx(gpu.energy_j)
        together = recording.energy(begin, end).energy_j
        assert gpu.energy_j is not None
        assert cpu.energy_j is not None
        assert together == pytest.approx(gpu.energy_j + cpu.energy_j)
