"""Two runs of a program with steps, beside each other on the command line."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import time
from pathlib import Path
from typing import Any

import joulemap
import pytest
from joulemap._cli import native_folder

STEPS = 8


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Record two runs; the second with half the samples a step."""
    folder = tmp_path_factory.mktemp("diff")
    for name, samples in (("base", 32), ("half", 16)):
        with joulemap.Session(folder / f"{name}.joulemap", sim="h200", cpu=False) as run:
            for _ in range(STEPS):
                with run.step(samples=samples):
                    time.sleep(0.1)
            assert run.flush()
    return [folder / "base.joulemap", folder / "half.joulemap"]


def diff(runs: list[Path], *options: str) -> subprocess.CompletedProcess[str]:
    command = [str(native_folder() / "joulemap"), "diff", *map(str, runs), *options]
    wide = {**os.environ, "COLUMNS": "200"}  # as in Python, no column is left out
    return subprocess.run(command, check=False, capture_output=True, text=True, env=wide)


def told(runs: list[Path], *options: str) -> dict[str, Any]:
    done = diff(runs, "--json", *options)
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def test_runs_with_steps_are_compared_by_step(runs: list[Path]) -> None:
    by_step = told(runs)
    assert (by_step["per"], by_step["gpu"], by_step["gain_u"]) == ("step", "same", 0)
    assert [by_step[side]["name"] for side in "ab"] == ["base", "half"]
    for side, path in zip("ab", runs, strict=True):
        totals = joulemap.Recording(path).report().totals
        assert totals.steady_steps == by_step[side]["units"]
        assert totals.steps == STEPS
        assert by_step["total"][f"{side}_j"] == pytest.approx(totals.steady_step_j, rel=1e-12)
        assert by_step["total"][f"{side}_s"] == pytest.approx(totals.steady_step_s, rel=1e-12)
        whole = told(runs, "--per", "run")["total"]
        assert whole[f"{side}_j"] == pytest.approx(totals.total_energy_j, rel=1e-12)
    assert {"path", "kind", "a_low_j", "b_high_j", "change_low", "verdict"} <= set(by_step["rows"][0])


def test_twice_the_joules_a_sample_are_surely_over(runs: list[Path]) -> None:
    by_sample = told(runs, "--per", "sample")
    assert by_sample["total"]["change"] == pytest.approx(2 * (1 + told(runs)["total"]["change"]) - 1)
    failed = diff(runs, "--per", "sample", "--fail-over", "3%")
    assert failed.returncode == 1
    assert "surely over 3 %" in failed.stderr
    assert diff(runs[::-1], "--per", "sample", "--fail-over", "3%").returncode == 0


def test_python_gives_what_the_command_prints(runs: list[Path]) -> None:
    for per in ("step", "sample", "run"):
        assert joulemap.diff(*runs, per=per).to_dict() == told(runs, "--per", per)
    changed = joulemap.diff(*runs)
    printed = diff(runs).stdout
    assert str(changed).split() == printed.split()
    assert changed.to_markdown().startswith("| layer")
    assert (changed.per, changed.gpu, changed.gain_u) == ("step", "same", 0)
    rows = told(runs)["rows"]
    assert [row.path for row in changed] == [row["path"] for row in rows]
    assert len(changed) == len(rows)
    assert changed.total.a_j == pytest.approx(told(runs)["total"]["a_j"])
    assert pickle.loads(pickle.dumps(changed.rows)) == changed.rows
    assert repr(changed).startswith("<joulemap.types.Diff per='step': ")
    assert list(changed.to_pandas()["verdict"]) == [row.verdict for row in changed]


def test_what_is_surely_over_is_asked_for(runs: list[Path]) -> None:
    by_sample = joulemap.diff(*runs, per="sample")
    assert by_sample.is_over(0.03)
    assert not by_sample.is_over(3)
    assert not joulemap.diff(*runs[::-1], per="sample").is_over(0)
    with pytest.raises(TypeError, match="change is a number, not '3 %'"):
        by_sample.is_over("3 %")  # type: ignore[arg-type]


def test_runs_are_paths_recordings_or_reports_with_names_of_their_own(runs: list[Path]) -> None:
    with joulemap.Recording(runs[0]) as a, joulemap.Recording(runs[1]) as b:
        by_file = joulemap.diff(a, str(runs[1]), by="phase")
        by_report = joulemap.diff(a.report("phase"), b.report("phase"), names=("before", "after"))
    assert by_file.rows == by_report.rows  # they outlive their recordings
    assert [by_file.to_dict()[side]["name"] for side in "ab"] == ["base", "half"]
    assert [by_report.to_dict()[side]["name"] for side in "ab"] == ["before", "after"]


def test_several_runs_of_a_side_are_compared_by_their_means(runs: list[Path], tmp_path: Path) -> None:
    again = [tmp_path / "base-1.joulemap", tmp_path / "base-2.joulemap"]
    for path, source in zip(again, runs, strict=True):
        path.write_bytes(source.read_bytes())
    changed = joulemap.diff(again, [runs[1]], per="step")
    done = diff([*again, Path("--"), runs[1]], "--json", "--per", "step")  # options after "--" are recordings
    assert done.returncode == 2
    command = [str(native_folder() / "joulemap"), "diff", "--json", "--per", "step", *map(str, again), "--"]
    printed = subprocess.run([*command, str(runs[1])], check=True, capture_output=True, text=True).stdout
    assert changed.to_dict() == json.loads(printed)
    told_a = changed.to_dict()["a"]
    assert told_a["name"] == "base"
    assert [run["name"] for run in told_a["runs"]] == ["base-1", "base-2"]
    parts = [joulemap.diff(path, path, per="step").total.a_j for path in again]
    assert changed.total.a_j == pytest.approx(sum(part or 0 for part in parts) / 2)
    assert (changed.total.a_runs, changed.total.b_runs, changed.total.b_deviation_j) == (2, 1, None)
    assert changed.total.a_deviation_j == pytest.approx(abs((parts[0] or 0) - (parts[1] or 0)) / 2**0.5)
    with pytest.raises(ValueError, match="b has no runs"):
        joulemap.diff(again, [])
    with pytest.raises(TypeError, match=r"a\[1\] is a path, not 3"):
        joulemap.diff([runs[0], 3], runs[1])  # type: ignore[list-item]


def test_what_cannot_be_compared_is_said_in_words_of_python(runs: list[Path], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="per='day' is not known: use one of run, step, sample"):
        joulemap.diff(*runs, per="day")
    with pytest.raises(TypeError, match=r"b is a path, not 3 \(int\)"):
        joulemap.diff(runs[0], 3)  # type: ignore[arg-type]
    with (
        joulemap.Recording(runs[0]) as a,
        pytest.raises(TypeError, match="a is a Report, so phase cannot"),
    ):
        joulemap.diff(a.report(), runs[1], phase="train")
    with pytest.raises(joulemap.Error, match="keys"):
        joulemap.diff(joulemap.Recording(runs[0]).report("phase"), runs[1])
    with joulemap.Session(tmp_path / "bare", sim="h200", cpu=False):
        time.sleep(0.2)
    with pytest.raises(joulemap.Error, match='compare with per="run"') as bare:
        joulemap.diff(runs[0], tmp_path / "bare", per="step")
    assert "--" not in str(bare.value) + bare.value.hint
