"""`joulemap calibrate`, then a run with counters, then its report: all on the simulated board, as a person does it."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import joulemap.calibration
import pytest
from calibrated import command, folder
from joulemap._cli import native_folder

__all__ = ["folder"]  # a fixture

if not (native_folder() / "sim" / "libcupti.so").exists():
    pytest.skip("the simulated board has no counters: CUPTI's headers were not there", allow_module_level=True)


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


def test_python_learns_what_the_command_does(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(folder / "data"))
    learnt = joulemap.calibration.learn_model(folder / "suite.joulemap", "suite", path=folder / "again.json")
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
    assert joulemap.calibration.learn_model(folder / "suite.joulemap", "suite") == replace(learnt, path=None)
    assert not (folder / "data").exists()


def test_python_says_what_cannot_be_learnt_from(folder: Path) -> None:
    with pytest.raises(joulemap.Error, match='no phase "other"') as none:
        joulemap.calibration.learn_model(folder / "suite.joulemap", "other")
    assert none.value.status == "NOT_FOUND"
    with pytest.raises(joulemap.Error, match="no GPU 7; this recording has: 0"):
        joulemap.calibration.learn_model(folder / "suite.joulemap", "suite", gpu=7)
    with pytest.raises(joulemap.Error, match="cannot be written") as place:
        joulemap.calibration.learn_model(folder / "suite.joulemap", "suite", path=folder / "nowhere" / "model.json")
    assert place.value.status == "IO"
    with pytest.raises(TypeError, match="phase is a text"):
        joulemap.calibration.learn_model(folder / "suite.joulemap", 3)  # type: ignore[arg-type]


def test_suite_inside_a_recording_says_that_it_records_itself(tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    words = ["-m", "joulemap.calibration", "--device", "cpu", "-o", "suite.joulemap"]
    done = command("record", "--sim", "h200", "-o", "x", "--", sys.executable, *words, folder=tmp_path)
    assert done.returncode == 75, done.stderr
    assert "records itself" in done.stderr
    assert "Warning" not in done.stderr
