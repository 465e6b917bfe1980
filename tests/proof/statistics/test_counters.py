"""What hardware counters add to the sensor, on the simulated board of a machine that has nothing else to do."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from calibrated import command, folder

__all__ = ["folder"]  # a fixture

# Kinds of work that always follow each other in a third of a ms each: the sensor, which remembers 14 ms, knows their
# sum.
NAMES = ("norm", "act", "mask", "drop", "add")
PROGRAM = f"""
import contextlib, os, time, joulemap
with contextlib.suppress(OSError):
    os.nice(-15)  # where it is interrupted, the sensor sees one kind without the others
with joulemap.Session() as run, run.phase("train"):
    end_s = time.monotonic() + 2
    while time.monotonic() < end_s:
        for name in {NAMES}:
            with run.window(name, type=name):
                until_s = time.perf_counter() + 3e-4
                while time.perf_counter() < until_s:
                    pass
        time.sleep(3e-3)
"""
BEYOND = 1.6  # of an interval of 95 %: three standard errors, for one in 400 truths lies beyond


def report(folder: Path, model: str) -> dict[str, dict[str, Any]]:
    done = command("report", "run.joulemap", "--by", "type", "--model", model, "--json", folder=folder)
    assert done.returncode == 0, done.stderr
    return {row["path"].split("/")[-1]: row for row in json.loads(done.stdout)["rows"]}


def half_interval_j(row: dict[str, Any]) -> float:
    half_j: float = (row["energy_high_j"] - row["energy_low_j"]) / 2
    return half_j


def test_counters_tell_apart_what_the_sensor_cannot(folder: Path) -> None:
    (folder / "program.py").write_text(PROGRAM)
    words = ["record", "--sim", "h200", "--counters=60", "-fo", "run.joulemap", "--", sys.executable, "program.py"]
    for _ in range(12):  # a busy machine interrupts it all the same, where it may not ask for its turn
        assert command(*words, folder=folder).returncode == 0
        without, rows = report(folder, "none"), report(folder, "model.json")
        counted = [name for name in NAMES if rows[name]["provenance"] == "counters"]
        if counted:
            break
    assert counted
    assert "counters" not in {row["provenance"] for row in without.values()}
    with (folder / "run.joulemap.truth.csv").open(newline="") as file:
        truth_j = {row["name"]: float(row["energy_j"]) for row in csv.DictReader(file)}
    for name in counted:
        half_j, half_before_j = (half_interval_j(by_name[name]) for by_name in (rows, without))
        assert half_j < half_before_j
        assert rows[name]["energy_j"] == pytest.approx(truth_j[name], abs=BEYOND * half_j)
