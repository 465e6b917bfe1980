"""A session that records into parts, on the simulated board: what is asked while it runs, and of its files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import joulemap
import pytest
from values import known

# In a child of the session: it joins the run, and asks for what the newest part has.
CHILD = """
import json, sys, joulemap
with joulemap.Session() as run:
    for line in sys.stdin:
        with run.step(samples=1):
            pass
        caught_up = run.flush()
        print(json.dumps({"path": run.recording_path, "flushed": caught_up,
                          "steps": run.report("board").totals.steps}), flush=True)
"""


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"rotate_s": 60}, "in memory has no parts"),
        ({"path": "r", "keep_files": 2}, "it needs rotate_s or rotate_bytes"),
        ({"path": "r", "rotate_s": 60, "keep_files": 0}, "1 or more"),
        ({"path": "r", "rotate_bytes": 1e5}, "rotate_bytes is a number above 1e"),
        ({"path": "r", "rotate_s": -1}, "rotate_s is a number above 0"),
    ],
)
def test_parts_that_cannot_be_are_refused_at_once(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        joulemap.Session(sim="h200", **options)


def test_a_size_below_which_a_part_is_condensed_is_none_to_rotate_at(tmp_path: Path) -> None:
    run = joulemap.Session(tmp_path / "r", sim="h200", max_bytes=10**7, rotate_bytes=10**7)
    with pytest.raises(joulemap.Error, match="rotate by time"):
        run.start()


def test_what_is_asked_while_it_runs_is_of_the_newest_part_and_windows_are_whole(tmp_path: Path) -> None:
    path = tmp_path / "run.joulemap"
    paths: set[str | None] = set()
    told = []
    with joulemap.Session(path, sim="h200", cpu=False, rotate_bytes=1_000_001) as run:
        child = subprocess.Popen(
            [sys.executable, "-c", CHILD],
            env={**os.environ, **run.environment()},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert child.stdin is not None and child.stdout is not None
        steps, window = 0, run.window("all")
        with window, run.phase("train"):
            begin = time.monotonic()
            while len(paths) < 2 and time.monotonic() - begin < 60:
                for _ in range(100):
                    with run.step(samples=2):
                        time.sleep(0.0002)
                    steps += 1
                paths.add(run.recording_path)
            child.stdin.write("now\n")
            child.stdin.flush()
            told.append(json.loads(child.stdout.readline()))
        newest = run.recording_path
        child.stdin.close()
        assert child.wait(60) == 0
        energy = window.energy_j
    first, second = sorted(tmp_path.glob("run.*.joulemap"))
    assert [first.name, second.name] == ["run.0001.joulemap", "run.0002.joulemap"]
    assert newest == str(second)
    assert paths == {str(first), str(second)}
    # The child's own step is in the newest part, which it finds by itself.
    assert told[0]["path"] == str(second)
    assert told[0]["flushed"]
    assert told[0]["steps"] >= 1

    reports = [joulemap.Recording(part).report("board") for part in (first, second)]
    assert sum(known(report.totals.steps) for report in reports) == steps + 1
    assert sum(known(report.totals.samples) for report in reports) == 2 * steps + 1
    phases = [joulemap.Recording(part).report("board", phase="train").totals for part in (first, second)]
    assert sum(known(phase.total_energy_j) for phase in phases) == pytest.approx(energy, rel=1e-3)
    assert run.report("board").totals.total_energy_j == pytest.approx(known(reports[1].totals.total_energy_j))
    assert any("part 2 of a run" in note for note in reports[1].notes)
