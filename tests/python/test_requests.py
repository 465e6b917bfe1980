"""Requests of a server: whose share of a step is whose, as a program tells it."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import joulemap
import pytest
from joulemap import _serving as serving
from joulemap._cli import native_folder

DECODE_S = 0.02


def work(run: joulemap.Session, seconds: float = DECODE_S, kind: str = "decode") -> None:
    with run.window(kind, type=kind):
        time.sleep(seconds)


def marks(run: joulemap.Session, name: str = "joulemap: requests of a step") -> list[dict[str, Any]]:
    assert run.flush()
    return [mark.meta for mark in run.timeline().marks if mark.name == name and mark.meta is not None]


def cost(report: joulemap.types.Report, name: str) -> joulemap.types.RequestCost:
    (found,) = (each for each in report.requests() if each.id == name)
    return found


def joules(of: joulemap.types.RequestCost) -> float:
    assert of.energy_j is not None
    return of.energy_j


def test_requests_share_a_step_by_their_tokens(session: joulemap.Session) -> None:
    a, b = joulemap.request("a", tokens=300), joulemap.request("b", tokens=100)
    with session.step(requests={a: 300, b: 100}) as step:
        work(session, 0.1, "prefill")
    assert step.tokens == 400
    for _ in range(5):
        with session.step(requests={a: 1, b: 1}):
            work(session)
    a.end()
    b.end()
    report = session.report("request")
    first, second = cost(report, "a"), cost(report, "b")
    assert first.prefill_j == pytest.approx(3 * (second.prefill_j or 0))
    assert first.decode_j == pytest.approx(second.decode_j)
    assert (first.prefill_tokens, first.decode_tokens, first.steps) == (300, 5, 6)
    totals = report.totals
    assert (totals.requests, totals.prefill_tokens, totals.decode_tokens) == (2, 400, 10)
    assert totals.total_energy_j is not None
    assert sum(row.energy_self_j or 0 for row in report) == pytest.approx(totals.total_energy_j)
    parts = (totals.prefill_j or 0) + (totals.decode_j or 0)
    assert joules(first) + joules(second) == pytest.approx(parts)
    assert 0 < (first.energy_low_j or 0) < joules(first) < (first.energy_high_j or 0)
    assert "a token" in report.table()
    assert "requests  2, half of them below" in report.table()


def test_a_prompt_in_pieces_is_prefill_until_all_of_it_was_fed(session: joulemap.Session) -> None:
    told, untold = joulemap.request("told", tokens=100), joulemap.request("untold")
    fed = [told._parts(count) for count in (64, 40, 1)]
    assert fed == [(64, 0), (36, 4), (0, 1)]
    assert [untold._parts(count) for count in (64, 40, 1)] == [(64, 0), (0, 40), (0, 1)]
    assert told._parts((30, 0)) == (30, 0)  # computed once more, after it had to make room
    assert [joulemap.request("nobody knows")._parts(None), untold._parts(0)] == [(-1, 0), (0, -1)]


def test_only_changes_of_the_batch_are_written(session: joulemap.Session) -> None:
    a, b = joulemap.request("a", tokens=9), joulemap.request("b", tokens=9)
    for batch in ({a: 9}, {a: 1}, {a: 1}, {a: 1}, {a: 1, b: 9}, {a: 1, b: 1}, {b: 1}, {b: 1}):
        with session.step(requests=batch):
            pass
    with session.step():
        pass
    numbers = {str(a._number): "a", str(b._number): "b"}
    told = [
        ({numbers[key]: fed for key, fed in mark.get("in", {}).items()}, [numbers[str(n)] for n in mark.get("out", [])])
        for mark in marks(session)
    ]
    assert told == [
        ({"a": [9, 0]}, []),
        ({"a": [0, 1]}, []),
        ({"b": [9, 0]}, []),
        ({"b": [0, 1]}, []),
        ({}, ["a"]),
        ({}, ["b"]),  # the step that tells no requests has none
    ]
    assert [mark["n"] for mark in marks(session)] == list(range(1, 7))


def test_a_large_batch_takes_several_marks_and_all_is_told_now_and_then(
    session: joulemap.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "_MAX_IN_MARK", 4)
    monkeypatch.setattr(serving, "_MAX_CHANGES", 3)
    many = [joulemap.request(f"r{i}", tokens=1) for i in range(10)]
    for count in (10, 9, 8, 10, 3, 5):
        with session.step(requests=dict.fromkeys(many[:count], 1)):
            work(session)
    told = marks(session)
    assert [mark["n"] for mark in told] == list(range(1, len(told) + 1))
    assert sum("all" in mark for mark in told) > 1
    assert {each.id: each.steps for each in session.report("request").requests()} == {
        f"r{i}": sum(count > i for count in (10, 9, 8, 10, 3, 5)) for i in range(10)
    }


def test_a_request_begins_in_one_task_and_ends_in_another_thread(session: joulemap.Session) -> None:
    """An asyncio server: requests overlap, and a thread of its own steps the engine."""
    waiting: list[tuple[joulemap.types.Request, asyncio.Event, asyncio.AbstractEventLoop]] = []
    lock, over = threading.Lock(), threading.Event()

    def engine() -> None:
        running: dict[joulemap.types.Request, int] = {}
        done = {}
        while not over.is_set() or running:
            with lock:
                for request, answered, loop in waiting:
                    running[request], done[request] = 0, (answered, loop)
                waiting.clear()
            if not running:
                time.sleep(0.001)
                continue
            with session.step(requests={request: 1 if fed else 8 for request, fed in running.items()}):
                work(session)
            for request in list(running):
                running[request] += 1
                if running[request] == 4:
                    del running[request]
                    answered, loop = done.pop(request)
                    loop.call_soon_threadsafe(answered.set)

    async def client(number: int) -> None:
        async with joulemap.request(f"task {number}", tokens=8) as request:
            answered = asyncio.Event()
            with lock:
                waiting.append((request, answered, asyncio.get_running_loop()))
            await answered.wait()

    async def clients() -> None:
        await asyncio.gather(*(client(number) for number in range(3)))

    thread = threading.Thread(target=engine)
    thread.start()
    try:
        asyncio.run(clients())
    finally:
        over.set()
        thread.join()
    costs = session.report("request").requests()
    assert sorted(each.id for each in costs) == ["task 0", "task 1", "task 2"]
    assert all(each.steps == 4 and each.duration_s >= 4 * DECODE_S and joules(each) > 0 for each in costs)
    assert all((each.prefill_tokens, each.decode_tokens) == (8, 3) for each in costs)


def test_two_engines_in_two_threads_have_batches_of_their_own(session: joulemap.Session) -> None:
    requests = [joulemap.request("left", tokens=1), joulemap.request("right", tokens=1)]
    turn = threading.Barrier(2)

    def engine(mine: joulemap.types.Request) -> None:
        for _ in range(3):
            turn.wait()
            with session.step(requests={mine: 1}):
                work(session)

    threads = [threading.Thread(target=engine, args=(mine,)) for mine in requests]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {each.id: each.steps for each in session.report("request").requests()} == {"left": 3, "right": 3}


def test_what_is_wrong_is_said_and_a_request_ends_once(session: joulemap.Session) -> None:
    request = joulemap.request("a")
    request.made = 3
    with request:
        pass
    request.end()
    assert marks(session, "joulemap: request ended") == [{"request": request._number, "made": 3}]
    with pytest.raises(TypeError, match=r"requests are what joulemap.request\(\) gives, not 'a'"):
        session.step(requests={"a": 1})  # type: ignore[dict-item]
    with pytest.raises((TypeError, ValueError), match="tokens of a request"):
        session.step(requests={request: -1})
    with pytest.raises(TypeError, match="the id of a request is a text"):
        joulemap.request(3)  # type: ignore[arg-type]
    assert "ended" in repr(request)


def test_without_requests_the_report_says_how_to_tell_them(session: joulemap.Session) -> None:
    with session.step():
        work(session)
    report = session.report("request")
    assert report.requests() == []
    assert report.totals.requests == 0
    assert any("run.step(requests=" in note for note in report.notes)
    assert session.report("layer").totals.requests is None


def test_a_request_that_lives_through_two_runs_is_in_both() -> None:
    request = joulemap.request("long")  # before any run
    for _ in range(2):
        with joulemap.Session(sim="h200", cpu=False) as run:
            with run.step(requests={request: 1}):
                work(run)
            assert [each.id for each in run.report("request").requests()] == ["long"]
    with joulemap.request("nobody listens") as other:
        assert serving.mark_batch({other: 1}) == 1


def test_a_file_keeps_requests_and_the_command_shows_them(tmp_path: Path) -> None:
    path = tmp_path / "serve.joulemap"
    with joulemap.Session(path, sim="h200", cpu=False) as run, joulemap.request("chat 1/2", tokens=5) as request:
        for tokens in (5, 1, 1):
            with run.step(requests={request: tokens}):
                work(run)
    command = [str(native_folder() / "joulemap"), "report", str(path), "--by", "request"]
    environment = {**os.environ, "COLUMNS": "120"}
    table = subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout
    assert "chat 1/2" in table
    whole = json.loads(subprocess.run([*command, "--json"], check=True, capture_output=True, text=True).stdout)
    row = next(row for row in whole["rows"] if row["kind"] == "request")
    assert (row["path"], row["calls"], row["tokens"]) == ("chat 1\\/2", 3, 7)
    assert row["end_ns"] > row["start_ns"] > 0
    assert whole["requests"] == 1
    assert (whole["prefill_tokens"], whole["decode_tokens"]) == (5, 2)
    with sqlite3.connect(path) as database:
        (count,) = database.execute("SELECT count(*) FROM marks").fetchone()
    assert count == 4  # it came, two batches, its end
    assert cost(joulemap.Recording(path).report("request"), "chat 1/2").steps == 3


def test_a_request_takes_what_the_sensors_say_of_its_steps(session: joulemap.Session) -> None:
    """Steps long enough to be measured by themselves, without any fit: their sum, by shares, is the truth."""
    a, b, c = (joulemap.request(name, tokens=100) for name in "abc")
    batches = [({a: 100}, "prefill"), ({a: 1, b: 99}, "mixed"), ({a: 1, b: 1}, "decode"), ({b: 1, c: 3}, "decode")]
    expected = dict.fromkeys("abc", 0.0)
    for batch, kind in batches:
        with session.step(requests=batch) as step:
            work(session, 0.4, kind)
        step_j = step.joules
        assert step_j is not None
        for request, tokens in batch.items():
            expected[request.id] += step_j * tokens / sum(batch.values())
        time.sleep(0.1)
    costs = {each.id: joules(each) for each in session.report("request").requests()}
    assert costs == pytest.approx(expected, rel=0.05)  # intervals of such windows are 6 %


def test_a_session_with_a_schedule_has_the_requests_of_its_windows() -> None:
    requests = {joulemap.request(name, tokens=1): 1 for name in ("first", "second")}
    with joulemap.Session(sim="h200", cpu=False, schedule=joulemap.schedule(wait=1, warmup=1, active=2)) as run:
        for number in range(8):  # as each is told, the next step begins
            work(run)
            run.step(requests=requests if number < 4 else dict.fromkeys(list(requests)[1:], 1))
        steps = {each.id: each.steps for each in run.report("request").requests()}
    # Traced are steps 2, 3, 6, 7: told after steps 1, 2, 5, 6.
    assert steps == {"first": 2, "second": 4}
