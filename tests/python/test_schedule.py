"""Schedules: which steps are traced, and what reports make of it, on the simulated board."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import joulemap
import pytest
import torch
from joulemap._cli import native_folder
from joulemap.types import Action
from torch import nn
from values import known


def letters(action_of: Callable[[int], Any], steps: int) -> str:
    """A letter a step: - w r S."""
    return "".join("-wrS"[list(Action.__members__).index(action_of(step).name)] for step in range(steps))


def test_a_schedule_reads_as_in_the_documentation_of_torch() -> None:
    assert letters(joulemap.schedule(wait=2, warmup=1, active=3, repeat=2, skip_first=1), 15) == "---wrrS--wrrS--"
    assert letters(joulemap.schedule(wait=0, warmup=1, active=1), 4) == "wSwS"


@pytest.mark.parametrize("repeat", [0, 2])
@pytest.mark.parametrize("active", [1, 3])
@pytest.mark.parametrize("warmup", [1, 2])
@pytest.mark.parametrize("wait", [0, 3])
@pytest.mark.parametrize("skip_first", [0, 4])
def test_each_step_is_as_torch_has_it(wait: int, warmup: int, active: int, repeat: int, skip_first: int) -> None:
    given = {"wait": wait, "warmup": warmup, "active": active, "repeat": repeat, "skip_first": skip_first}
    ours, theirs = joulemap.schedule(**given), torch.profiler.schedule(**given)
    assert [ours(step).name for step in range(40)] == [theirs(step).name for step in range(40)]


@pytest.mark.parametrize(
    ("wrong", "error", "words"),
    [
        ({"wait": -1}, ValueError, "wait is a whole number from 0"),
        ({"warmup": 1.5}, TypeError, "warmup is a whole number, not 1.5"),
        ({"active": 0}, ValueError, "active is a whole number from 1, not 0"),
        ({"repeat": "2"}, TypeError, "repeat is a whole number, not '2'"),
        ({"skip_first": None}, TypeError, "skip_first is a whole number, not None"),
    ],
)
def test_a_wrong_argument_is_named(wrong: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        joulemap.schedule(**{"wait": 1, "warmup": 1, "active": 1} | wrong)


def test_a_step_of_a_schedule_is_no_decorator() -> None:
    schedule = joulemap.schedule(wait=0, warmup=1, active=1)
    words = r"begins at once, so it is not a decorator: .*`with run\.step\(\):` inside"
    with joulemap.Session(sim="h200", cpu=False, schedule=schedule) as run, pytest.raises(TypeError, match=words):

        @run.step()
        def train() -> None: ...


def test_a_function_decorated_before_the_session_runs_is_a_step_each_call() -> None:
    asked: list[int] = []

    def action_of(step: int) -> Action:
        asked.append(step)
        return Action.RECORD

    run = joulemap.Session(sim="h200", cpu=False, schedule=action_of)

    @run.step(samples=3)
    def train() -> None: ...

    with run:
        for _ in range(4):
            train()
    assert asked == [0, 1, 2, 3, 4]


def test_a_schedule_without_warmup_is_warned_of() -> None:
    with pytest.warns(UserWarning, match="use warmup=1"):
        joulemap.schedule(wait=1, warmup=0, active=1)


def work(run: joulemap.Session, step: int) -> None:
    with run.window(f"step {step}", type="work"):
        time.sleep(0.05)


def windows_of(report: joulemap.types.Report) -> list[str]:
    return [row.name for row in report.rows if row.kind == "window"]


SCHEDULE = joulemap.schedule(wait=2, warmup=1, active=3, repeat=2)


def test_step_at_the_end_of_each_step_as_with_torch() -> None:
    ready: list[tuple[int, int]] = []

    def note(run: joulemap.Session) -> None:
        assert run.window_ns is not None
        ready.append(run.window_ns)

    with joulemap.Session(sim="h200", cpu=False, schedule=SCHEDULE, on_window_ready=note) as run, run.phase("train"):
        for step in range(14):
            work(run, step)
            run.step()
    report = run.report("span")
    assert windows_of(report) == [f"step {step}" for step in (3, 4, 5, 9, 10, 11)]
    assert report.totals.steps == 6
    assert len(ready) == 2
    lengths_s = [1e-9 * (end_ns - begin_ns) for begin_ns, end_ns in ready]
    assert known(report.totals.duration_s) == pytest.approx(sum(lengths_s), abs=0.001)
    assert known(report.totals.total_energy_j) == pytest.approx(
        sum(row.energy_self_j or 0 for row in report.rows), rel=1e-9
    )
    note_of_it = [note for note in report.notes if note.startswith("Traced at times")]
    assert len(note_of_it) == 1
    assert "in 2 pieces" in note_of_it[0]
    second = run.report("span", from_ns=ready[1][0], to_ns=ready[1][1])
    assert windows_of(second) == ["step 9", "step 10", "step 11"]


def test_by_board_the_whole_run_is_told() -> None:
    with joulemap.Session(sim="h200", cpu=False, schedule=SCHEDULE) as run:
        for step in range(8):
            work(run, step)
            run.step()
    whole, windows = run.report("board").totals, run.report().totals
    assert known(whole.duration_s) > 0.4 > known(windows.duration_s) > 0.15
    assert known(whole.total_energy_j) > known(windows.total_energy_j)


def test_a_block_a_step_is_the_same_and_ends_it() -> None:
    ends: list[int] = []
    with joulemap.Session(sim="h200", cpu=False, schedule=joulemap.schedule(wait=1, warmup=1, active=2)) as run:
        for step in range(1, 6):  # what lies before the first block is step 0
            with run.step(samples=8), run.step(name="part"):
                work(run, step)
            ends.append(time.monotonic_ns())
            time.sleep(0.02)
    report = run.report("span")
    assert windows_of(report) == ["step 2", "step 3"]
    assert (report.totals.steps, report.totals.samples) == (2, 16)
    steps = [row for row in report.rows if row.kind == "step" and row.depth == 0]
    assert all(row.end_ns <= end_ns for row, end_ns in zip(steps, ends[1:3], strict=True))  # not of the rest behind it


def test_a_phase_that_began_in_a_step_holds_the_steps_that_follow() -> None:
    with pytest.warns(UserWarning, match="use warmup=1"):
        always = joulemap.schedule(wait=0, warmup=0, active=4, repeat=1)
    with joulemap.Session(sim="h200", cpu=False, schedule=always) as run, run.phase("train"):
        for step in range(4):
            work(run, step)
            run.step(samples=8)
    totals = run.report("span").totals
    assert (totals.steps, totals.samples) == (4, 24)  # step 0 began with the session, which knows no samples


def test_a_window_that_is_open_ends_with_the_session() -> None:
    ready: list[joulemap.Session] = []
    with joulemap.Session(
        sim="h200", cpu=False, schedule=joulemap.schedule(wait=1, warmup=1, active=9), on_window_ready=ready.append
    ) as run:
        for step in range(4):
            work(run, step)
            run.step()
        assert ready == []
    assert ready == [run]
    assert windows_of(run.report("span")) == ["step 2", "step 3"]


def test_layers_of_watched_models_and_a_schedule_of_torch() -> None:
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU())
    with joulemap.Session(
        sim="h200", cpu=False, schedule=torch.profiler.schedule(wait=1, warmup=1, active=2, repeat=1)
    ) as run:
        run.watch(model)
        for _ in range(8):
            model(torch.randn(4, 8)).sum().backward()
            run.step()
    calls = {row.path: row.calls for row in run.report("layer").rows}
    assert calls["Sequential"] == calls["0"] == 2


def test_a_run_of_many_steps_stays_small(tmp_path: Path) -> None:
    model = nn.Linear(4, 4)
    sizes = []
    for name, action_of in (("all", None), ("some", joulemap.schedule(wait=95, warmup=1, active=4))):
        with joulemap.Session(tmp_path / name, sim="h200", cpu=False, schedule=action_of) as run:
            run.watch(model)
            for _ in range(10000):
                model(torch.ones(2, 4))
                run.step()
        sizes.append((tmp_path / name).stat().st_size)
    assert sizes[1] < 0.5 * sizes[0]


def test_under_record_a_schedule_is_followed_from_the_first_step_on(tmp_path: Path) -> None:
    program = """
import time
import joulemap

schedule = joulemap.schedule(wait=2, warmup=1, active=3, repeat=1)
with joulemap.Session(schedule=schedule) as run, run.phase("train"):
    for step in range(9):
        with run.window(f"step {step}", type="work"):
            time.sleep(0.05)
        run.step()
"""
    path = tmp_path / "run.joulemap"
    command: list[str | Path] = [
        native_folder() / "joulemap",
        "record",
        "--sim",
        "h200",
        "-o",
        path,
        "--",
        sys.executable,
        "-c",
        program,
    ]
    subprocess.run(command, check=True, capture_output=True)
    with joulemap.Recording(path) as recording:
        assert windows_of(recording.report("span")) == ["step 3", "step 4", "step 5"]
    with closing(sqlite3.connect(path)) as file:
        spans = [name for (name,) in file.execute("SELECT name FROM spans_named WHERE kind = 'window'")]
    assert spans == ["step 2", "step 3", "step 4", "step 5"]  # with the warm one


def test_where_nothing_was_traced_only_the_board_is_known() -> None:
    with joulemap.Session(sim="h200", cpu=False, schedule=joulemap.schedule(wait=100, warmup=1, active=1)) as run:
        with run.window("w") as window:
            time.sleep(0.1)
        assert run.window_ns is None
        with pytest.raises(joulemap.Error, match="nothing of this time was traced") as none:
            window.report()
        assert "rows by board" in none.value.hint
        assert window.report("board").totals.total_energy_j == pytest.approx(known(window.joules), rel=0.2)


def test_a_call_that_fails_at_the_end_ends_the_session_too() -> None:
    def fail(run: joulemap.Session) -> None:
        raise RuntimeError("no room")

    schedule = joulemap.schedule(wait=0, warmup=1, active=9)
    run = joulemap.Session(sim="h200", cpu=False, schedule=schedule, on_window_ready=fail).start()
    run.step()
    with pytest.raises(RuntimeError, match="no room"):
        run.stop()
    assert joulemap.current_session() is None
    assert run.report("board").totals.total_energy_j is not None


def test_a_schedule_that_gives_something_else_is_told() -> None:
    with pytest.raises(ValueError, match="the schedule gave 3 for step 0: use one of NONE, WARMUP"):
        joulemap.Session(sim="h200", cpu=False, schedule=lambda step: 3).start()
    assert joulemap.current_session() is None
    with pytest.raises(TypeError, match="schedule is callable, not 5"):
        joulemap.Session(schedule=5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="on_window_ready needs a schedule"):
        joulemap.Session(on_window_ready=print)
