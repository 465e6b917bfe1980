"""PowerDL's guard of memory: samples go to files, and none is lost; its samples are what the sensors said."""

from __future__ import annotations

import csv
import json
import math
import os
import resource
import subprocess
import sys
import time
from array import array
from itertools import pairwise
from pathlib import Path

import joulemap
import pytest
import torch
from joulemap._cli import native_folder
from joulemap._timeline import Series
from joulemap.compat.powerdl import profile_torch
from joulemap.compat.powerdl.export import write_samples
from joulemap.compat.powerdl.samples import Curve, Window, iterate_marks, iterate_samples
from sanitizers import SANITIZED
from torch import nn


@pytest.fixture(autouse=True)
def simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOULEMAP_SIM", "h200")


def train(p: object, batches: int = 20) -> None:
    model = nn.Linear(4, 2)
    loader = [(torch.randn(3, 4), torch.randint(2, (3,)))] * batches
    p.train(model, loader, torch.optim.SGD(model.parameters(), 0.1), nn.CrossEntropyLoss(), 1)  # type: ignore[attr-defined]
    time.sleep(0.3)


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def names_in(folder: Path) -> list[str]:
    """Return what there is, but for the simulated board's own file."""
    return sorted(path.name for path in folder.iterdir() if not path.name.endswith(".truth.csv"))


def test_samples_are_in_memory_unless_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with profile_torch() as p:
        train(p)
    assert p.report().summary["train_energy_j"] > 0
    assert list(tmp_path.iterdir()) == []


def test_flushed_samples_are_in_the_files_and_in_the_summary(tmp_path: Path) -> None:
    with (
        pytest.warns(RuntimeWarning, match="none is lost"),
        profile_torch(max_samples=10, auto_flush_dir=tmp_path, auto_flush_prefix="mine") as p,
    ):
        train(p)
        train(p)
    report = p.report()
    assert names_in(tmp_path) == ["mine.joulemap", "mine_marks.csv", "mine_samples.csv"]
    samples = rows_of(tmp_path / "mine_samples.csv")
    assert list(samples[0]) == ["t", "p_w", "gpu_util", "mem_util", "ts"]
    assert len(samples) == len(report.samples_df) > 20
    assert [float(row["t"]) for row in samples] == list(report.samples_df.t)
    assert len(rows_of(tmp_path / "mine_marks.csv")) == len(report.marks_df) == 2 * (2 + 2 + 40) + 2
    summary = report.summary
    assert len(summary["batch_rows"]) == 40
    assert sum(row["energy_j"] for row in summary["batch_rows"]) == pytest.approx(summary["train_energy_j"])
    with joulemap.Recording(tmp_path / "mine.joulemap") as recording:
        assert len(recording.timeline().readings()) > 20


def test_marks_are_not_written_if_not_wanted_and_runs_do_not_overwrite_each_other(tmp_path: Path) -> None:
    for _ in range(2):
        with profile_torch(auto_flush_dir=tmp_path, auto_flush_keep_marks=False) as p:
            p.mark("mine", value=1)
        assert [mark.name for mark in p.report().marks()] == ["session_start", "mine", "session_end"]
    assert names_in(tmp_path) == [
        "powerdl-2.joulemap",
        "powerdl-2_samples.csv",
        "powerdl.joulemap",
        "powerdl_samples.csv",
    ]


def test_a_limit_without_a_folder_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    p = profile_torch(max_memory_mb=100)
    with p:
        train(p)
    (kept,) = tmp_path.glob("*/*.joulemap")
    assert kept.name == "powerdl.joulemap"
    assert len(p.report().samples_df) > 5
    del p
    assert not kept.parent.exists()  # PyTorch's compiler may have a folder of its own beside it


def test_what_was_flushed_outlives_a_program_that_is_killed(tmp_path: Path) -> None:
    program = (
        "import os, time\n"
        "from joulemap.compat.powerdl import profile_torch\n"
        f"with profile_torch(auto_flush_dir={str(tmp_path)!r}) as p:\n"
        "    p.mark('before')\n"
        "    time.sleep(2.5)\n"
        "    os._exit(9)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], timeout=120, check=False, capture_output=True)
    assert done.returncode == 9, done.stderr
    with joulemap.Recording(tmp_path / "powerdl.joulemap") as recording:
        timeline = recording.timeline()
    assert [mark.name for mark in timeline.marks] == ["session_start", "before"]
    assert len(timeline.readings()) >= 50  # all but the last second of 125


DAY_S = 24 * 3600


def test_a_day_of_samples_takes_bounded_memory(tmp_path: Path) -> None:
    """24 hours at 0.1 s, written row by row. (20 ms, five times as many samples, takes as much memory and a minute.)"""
    readings = tmp_path / "readings.csv"
    with readings.open("w") as file:
        file.write("sensor,t_s,value\n")
        file.writelines(f"power_ring,{0.1 * i:.1f},{300 + i % 100}\n" for i in range(10 * DAY_S + 1))
    recording = tmp_path / "day.joulemap"
    command = [str(native_folder() / "joulemap"), "import", "--board", "h200", "--readings", str(readings)]
    subprocess.run([*command, "-o", str(recording)], check=True, capture_output=True)
    readings.unlink()
    out = tmp_path / "samples.csv"
    pid = os.fork()  # a process of its own, whose largest memory is this test's
    if pid == 0:
        base_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with joulemap.Recording(recording) as run:
            write_samples(out, run.timeline(), Window(0, DAY_S * 10**9, 0, 0), 0.1, collect_util=False)
        grown_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - base_kb
        (tmp_path / "memory.json").write_text(json.dumps(grown_kb))
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
    # 864,001 readings: 24 bytes as read, 16 sorted, 16 in Python and as many on the way, and one sample. All samples,
    # of five floats of 24 bytes and a tuple of 80, would be 165 MB more.
    grown_mb = json.loads((tmp_path / "memory.json").read_text()) / 1024
    # A sanitizer keeps what was freed: what growing arrays left behind.
    assert grown_mb < (200 if SANITIZED else 120)
    count, energy_j, before = 0, 0.0, math.nan
    with out.open(newline="") as file:
        for row in csv.DictReader(file):
            count += 1
            power_w = float(row["p_w"] or "nan")
            energy_j += 0.0 if math.isnan(before) or math.isnan(power_w) else 0.1 * (before + power_w) / 2
            before = power_w
    assert count == 10 * DAY_S + 1
    assert energy_j == pytest.approx(349.5 * DAY_S, rel=1e-3)  # nothing is lost


# ---- samples ----


def series(t_s: list[float], values: list[float], lag_s: float = 0.0, window_s: float = 0.0) -> Series:
    stamps = array("q", [round(1e9 * t) for t in t_s])
    watts = array("d", values)
    return Series("power_ring", "power", "W", "nvml", "gpu", 0, 0, "", "", False, "", lag_s, window_s, stamps, watts)


def test_a_curve_is_straight_between_readings_and_silent_elsewhere() -> None:
    curve = Curve(series([0.1, 0.2, 0.3, 0.9, 1.0], [100, 200, 100, 500, 600]), 0)
    told = [curve.at(t) for t in (0.05, 0.1, 0.15, 0.25, 0.3, 0.5, 0.9, 0.95, 1.0, 1.01)]
    assert math.isnan(told[0])
    assert told[1:5] == pytest.approx([100, 150, 150, 100])
    assert told[6:9] == pytest.approx([500, 550, 600])
    assert math.isnan(told[5])  # six times the usual distance: a gap
    assert math.isnan(told[9])


def test_a_curve_stands_where_its_power_was_drawn() -> None:
    curve = Curve(series([0.1, 0.2, 0.3], [100, 200, 300], lag_s=0.02, window_s=0.06), 0)
    assert curve.at(0.05) == pytest.approx(100)
    assert curve.at(0.10) == pytest.approx(150)


def test_means_are_of_readings_within_the_stretches() -> None:
    curve = Curve(series([0.1, 0.2, 0.3, 0.4, 0.5], [1, 2, 3, 4, 5]), 0)
    assert curve.mean([(0.15, 0.35), (0.45, 0.6)]) == pytest.approx((2 + 3 + 5) / 3)
    assert curve.mean([(0.6, 0.7)]) is None


def test_samples_stand_on_the_grid_that_was_asked_for() -> None:
    with profile_torch(interval_s=0.05) as p:
        time.sleep(1.0)
    report = p.report()
    frame = report.samples_df
    assert all(after - before == pytest.approx(0.05) for before, after in pairwise(frame.t))
    assert frame.p_w.notna().mean() > 0.9
    assert frame.gpu_util.notna().any()
    assert abs(frame.ts.iloc[-1] - time.time()) < 60
    with profile_torch(collect_util=False) as p:
        time.sleep(0.3)
    silent = p.report()
    assert silent.samples_df.gpu_util.isna().all()
    assert silent.summary["epoch_avg_gpu_util_pct"] is None


def test_without_pandas_files_are_written_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with profile_torch() as p:
        train(p)
    report = p.report()
    monkeypatch.setitem(sys.modules, "pandas", None)
    for name in ("samples_df", "marks_df"):
        with pytest.raises(ImportError, match="pip install"):
            getattr(report, name)
    names = sorted(path.name for path in report.export(tmp_path))
    assert names == ["batches.csv", "epochs.csv", "marks.csv", "samples.csv", "summary.json"]
    assert len(rows_of(tmp_path / "batches.csv")) == 20


def test_a_time_that_is_not_known_is_not_a_number(tmp_path: Path) -> None:
    readings = tmp_path / "readings.csv"
    readings.write_text("sensor,t_s,value\n" + "".join(f"power_ring,{0.02 * i},{100 + i}\n" for i in range(50)))
    command = [str(native_folder() / "joulemap"), "import", "--board", "h200", "--readings", str(readings)]
    subprocess.run([*command, "-o", str(tmp_path / "run.joulemap")], check=True, capture_output=True)
    with joulemap.Recording(tmp_path / "run.joulemap") as run:
        (first, *_) = iterate_samples(run.timeline(), Window(0, 10**9, 0, 0), 0.1, collect_util=True)
    assert math.isnan(first.ts)
    assert math.isnan(first.gpu_util)


def test_marks_of_joulemap_itself_are_left_out(tmp_path: Path) -> None:
    with joulemap.Session(tmp_path / "run.joulemap") as run:
        for name in ("joulemap: ended", "joulemap: request", "mine", "torch.compile: 0/0"):
            run.mark(name)
    timeline = run.timeline()
    assert len(timeline.marks) == 3  # the first is no mark of a program at all
    window = Window(timeline.marks[0].t_ns, timeline.marks[-1].t_ns, 0, 0)
    assert [mark.name for mark in iterate_marks(timeline, window)] == ["mine"]
