"""Two runs of a program with steps, beside each other on the command line."""

from __future__ import annotations

import json
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
    return subprocess.run(command, check=False, capture_output=True, text=True)


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
        assert totals.steps == by_step[side]["units"] == STEPS
        assert totals.total_energy_j is not None
        assert by_step["total"][f"{side}_j"] == pytest.approx(totals.total_energy_j / STEPS, rel=1e-12)
    assert {"path", "kind", "a_low_j", "b_high_j", "change_low", "verdict"} <= set(by_step["rows"][0])


def test_twice_the_joules_a_sample_are_surely_over(runs: list[Path]) -> None:
    by_sample = told(runs, "--per", "sample")
    assert by_sample["total"]["change"] == pytest.approx(2 * (1 + told(runs)["total"]["change"]) - 1)
    failed = diff(runs, "--per", "sample", "--fail-over", "3%")
    assert failed.returncode == 1
    assert "surely over 3 %" in failed.stderr
    assert diff(runs[::-1], "--per", "sample", "--fail-over", "3%").returncode == 0
