"""`joulemap calibrate`, then a run with counters, then its report: all on the simulated board, as a person does it."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import joulemap
import pytest
from joulemap._cli import native_folder

pytest.importorskip("torch")
if not (native_folder() / "sim" / "libcupti.so").exists():
    pytest.skip("the simulated board has no counters: CUPTI's headers were not there", allow_module_level=True)

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


def command(*words: str | Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the installed command in this folder, which is also the user's home."""
    environment = {**os.environ, "XDG_DATA_HOME": str(folder / "data"), "TMPDIR": str(folder / "tmp")}
    return subprocess.run(
        [sys.executable, "-m", "joulemap._cli", *map(str, words)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `model.json` and `suite.joulemap`, which one command made, and what it said."""
    place = tmp_path_factory.mktemp("calibrate")
    (place / "tmp").mkdir()
    options = ["--sim", "h200", "--seconds", "7", "-o", "model.json", "--keep-recording", "suite.joulemap"]
    done = command("calibrate", *options, folder=place)
    assert done.returncode == 0, done.stdout + done.stderr
    (place / "said").write_text(done.stdout)
    return place


def report(folder: Path, model: str) -> dict[str, dict[str, Any]]:
    done = command("report", "run.joulemap", "--by", "type", "--model", model, "--json", folder=folder)
    assert done.returncode == 0, done.stderr
    return {row["path"].split("/")[-1]: row for row in json.loads(done.stdout)["rows"]}


def half_interval_j(row: dict[str, Any]) -> float:
    half_j: float = (row["energy_high_j"] - row["energy_low_j"]) / 2
    return half_j


def test_calibrate_says_that_the_board_is_simulated_and_leaves_what_was_asked_for(folder: Path) -> None:
    said = (folder / "said").read_text()
    assert said.startswith("NVIDIA H200, SIMULATED: 8 counters, ")
    assert said.endswith("\nmodel.json\n")
    model = json.loads((folder / "model.json").read_text())
    assert model["board"] == "NVIDIA H200 (simulated)"
    assert sum(feature["weight_w"] for feature in model["features"]) > 0
    assert not (folder / "data").exists()
    assert not [path for path in (folder / "tmp").iterdir() if path.name.startswith("joulemap")]


def test_what_the_board_draws_idle_is_learnt_near_the_hidden_truth(folder: Path) -> None:
    """A simulated H200 draws 165 W in the first ms after work, 140 up to 20 ms, then 123 (sim/profiles/h200.json).

    So 125 W in the rests of 0.2 s that this small suite has, told to 1 W (129 on a machine that is always busy), and
    142 to 150 W in gaps of milliseconds, told to 7 % if at all. Noise cannot be told from a drift in so few readings.
    """
    model = json.loads((folder / "model.json").read_text())
    idle = {state["gap"]: state for state in model["idle"]}
    rest = idle["longer"]
    assert rest["power_w"] == pytest.approx(125, abs=8)
    assert 0 < rest["u_w"] < 3
    assert 0.3 < rest["seconds"] < 30  # 0.4 s on a machine that has nothing else to do
    if "under 20 ms" in idle:
        assert idle["under 20 ms"]["power_w"] == pytest.approx(146, rel=0.15)
    assert model["noise_w"] is None
    assert f"\nidle, with a program on it: {rest['power_w']:.0f} W at rest" in (folder / "said").read_text()


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


def test_python_learns_what_the_command_does(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(folder / "data"))
    learnt = joulemap.learn_model(folder / "suite.joulemap", "suite", path=folder / "again.json")
    assert learnt.board == "NVIDIA H200"
    assert learnt.simulated
    assert learnt.path == str(folder / "again.json")
    assert (folder / "again.json").read_text() == (folder / "model.json").read_text()
    assert learnt.features == 8
    assert 0 < learnt.readings_used <= learnt.readings
    assert 0 < learnt.median_error <= learnt.p95_error < 0.3
    model = json.loads((folder / "again.json").read_text())
    rest = next(state for state in model["idle"] if state["gap"] == "longer")
    assert (learnt.idle_w, learnt.idle_u_w) == pytest.approx((rest["power_w"], rest["u_w"]))
    assert learnt.noise_w is None
    # A simulated board has no say in the reports of real ones.
    assert joulemap.learn_model(folder / "suite.joulemap", "suite") == replace(learnt, path=None)
    assert not (folder / "data").exists()


def test_python_says_what_cannot_be_learnt_from(folder: Path) -> None:
    with pytest.raises(joulemap.Error, match='no phase "other"') as none:
        joulemap.learn_model(folder / "suite.joulemap", "other")
    assert none.value.status == "NOT_FOUND"
    with pytest.raises(joulemap.Error, match="no GPU 7; this recording has: 0"):
        joulemap.learn_model(folder / "suite.joulemap", "suite", gpu=7)
    with pytest.raises(joulemap.Error, match="cannot be written") as place:
        joulemap.learn_model(folder / "suite.joulemap", "suite", path=folder / "nowhere" / "model.json")
    assert place.value.status == "IO"
    with pytest.raises(TypeError, match="phase is a text"):
        joulemap.learn_model(folder / "suite.joulemap", 3)  # type: ignore[arg-type]


def test_suite_inside_a_recording_says_that_it_records_itself(tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    words = ["-m", "joulemap.calibration", "--device", "cpu", "-o", "suite.joulemap"]
    done = command("record", "--sim", "h200", "-o", "x", "--", sys.executable, *words, folder=tmp_path)
    assert done.returncode == 75, done.stderr
    assert "records itself" in done.stderr
    assert "Warning" not in done.stderr
