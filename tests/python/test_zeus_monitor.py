"""Programs of Zeus' monitor: windows by name, on the simulated board."""

from __future__ import annotations

import csv
import gc
import os
import subprocess
import sys
import time
from pathlib import Path

import joulemap
import pytest
from joulemap.compat.zeus.monitor import Measurement, ZeusMonitor

SCRIPT = """
import time
from zeus.monitor import ZeusMonitor
from zeus.monitor.energy import Measurement

if __name__ == "__main__":
    monitor = ZeusMonitor(gpu_indices=[0], approx_instant_energy=True)
    monitor.begin_window("epoch")
    steps = []
    for _ in range(3):
        monitor.begin_window("step", sync_execution=False)
        time.sleep(0.05)
        steps.append(monitor.end_window("step"))
    epoch = monitor.end_window("epoch")
    assert all(isinstance(step, Measurement) for step in steps)
    print(epoch.time, epoch.total_energy, sum(step.time for step in steps), sum(step.total_energy for step in steps))
"""


@pytest.fixture(autouse=True)
def steady(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A board that draws 400 W."""
    script = tmp_path / "power.csv"
    script.write_text("0,36000,400,work\n")
    monkeypatch.setenv("JOULEMAP_SIM", "h200")
    monkeypatch.setenv("JOULEMAP_SIM_SCRIPT", str(script))


def holds(measured: Measurement) -> bool:
    low_j, high_j = measured.gpu_interval[0]
    return low_j <= measured.gpu_energy[0] <= high_j and low_j <= 400 * measured.time <= high_j


def test_windows_overlap_and_have_the_names_of_zeus() -> None:
    monitor = ZeusMonitor()
    assert monitor.gpu_indices == [0]
    monitor.begin_window("a")
    time.sleep(0.1)
    monitor.begin_window("b")
    with pytest.raises(ValueError, match="Measurement window 'b' already exists"):
        monitor.begin_window("b")
    first = monitor.end_window("a")
    time.sleep(0.1)
    second = monitor.end_window("b")
    with pytest.raises(ValueError, match="Measurement window 'b' does not exist"):
        monitor.end_window("b")
    assert holds(first)
    assert holds(second)
    assert first.total_energy == sum(first.gpu_energy.values())
    assert repr(first).startswith(f"Measurement(time={first.time}, gpu_energy={{0: ")
    assert joulemap.current_session() is not None
    del monitor
    gc.collect()
    assert joulemap.current_session() is None
    assert holds(first)


def test_a_log_file_has_a_row_for_each_window_that_was_not_cancelled(tmp_path: Path) -> None:
    log = tmp_path / "new" / "log.csv"
    monitor = ZeusMonitor([0], log_file=log)
    monitor.begin_window("a")
    time.sleep(0.1)
    kept = monitor.end_window("a")
    monitor.begin_window("b")
    cancelled = monitor.end_window("b", cancel=True)
    assert (cancelled.time, cancelled.gpu_energy, cancelled.total_energy, cancelled.cpu_energy) == (0, {0: 0}, 0, None)
    (row,) = csv.DictReader(log.open())
    assert [*row] == ["start_time", "window_name", "elapsed_time", "gpu0_energy"]
    assert row["window_name"] == "a"
    assert float(row["gpu0_energy"]) == pytest.approx(kept.gpu_energy[0])
    assert abs(float(row["start_time"]) - time.time()) < 60


def test_a_gpu_that_is_not_there_is_an_error() -> None:
    with pytest.raises(joulemap.NoDeviceError, match="no board with index 5"):
        ZeusMonitor(gpu_indices=[5])


def test_a_part_of_zeus_that_is_not_here_says_how_to_get_it(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import zeus.optimizer\n")
    command = [sys.executable, "-m", "joulemap.compat", str(script)]
    done = subprocess.run(command, env=os.environ, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 1
    cure = "joulemap has no zeus.optimizer; to import zeus itself: python -m joulemap.compat --keep zeus"
    assert done.stderr.splitlines()[-1] == f"ModuleNotFoundError: {cure}"


def test_a_script_of_zeus_runs_unchanged(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    command = [sys.executable, "-m", "joulemap.compat", str(script)]
    done = subprocess.run(command, env=os.environ, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    epoch_s, epoch_j, steps_s, steps_j = map(float, done.stdout.split())
    assert 0.15 <= steps_s <= epoch_s
    assert epoch_j == pytest.approx(400 * epoch_s, rel=0.1)
    assert steps_j == pytest.approx(400 * steps_s, rel=0.2)
