"""Sinks: what a logger is told of a run while it goes on, and that nothing of a logger stops the program."""

from __future__ import annotations

import asyncio
import os
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import joulemap
import joulemap.sinks
import pytest
import torch
from joulemap import _core
from joulemap.sinks._final import Final
from joulemap.sinks._sink import Sink
from recorded import unpack
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Told:
    """A logger that keeps what it is told."""

    name = "a list"

    def __init__(self) -> None:
        self.rows: list[tuple[int, dict[str, float]]] = []
        self.finals: list[tuple[Final, int]] = []
        self.closed = 0

    def scalars(self, values: dict[str, float], number: int, wall_s: float) -> None:
        assert abs(wall_s - time.time()) < 60
        self.rows.append((number, values))

    def final(self, told: Final, number: int) -> None:
        self.finals.append((told, number))

    def close(self) -> None:
        self.closed += 1


@pytest.fixture
def follow(session: joulemap.Session) -> Iterator[Callable[..., Told]]:
    """Begin to tell a logger of a session; the sinks are closed when the test ends."""
    sinks = []

    def begin(**options: Any) -> Told:
        told = Told()
        sinks.append(Sink(session, told, **options))
        return told

    yield begin
    for sink in sinks:
        sink.close()


def work(seconds: float, layer: str = "blocks.0") -> None:
    """Draw watts on the simulated GPU, which draws them while a layer runs."""
    number = _core.intern(f"Linear({1000 * seconds:.0f})")
    span = _core.span_begin(_core.SPAN_KINDS["forward"], _core.intern(layer), number, 0)
    time.sleep(seconds)
    _core.span_end(span)


def holds(interval: joulemap.types.Sum, energy_j: float) -> bool:
    """Whether what was told while the run went on agrees with what is asked later, with readings that came since."""
    assert interval.energy_low_j is not None
    assert interval.energy_high_j is not None
    return 0 < interval.energy_low_j <= energy_j <= interval.energy_high_j


def test_each_so_many_steps_have_the_joules_between_their_ends(session: joulemap.Session, follow: Any) -> None:
    told = follow(every=3)
    edges = []
    for step in range(7):
        with session.step(samples=4, tokens=100) as scope:
            work(0.02 + 0.01 * step)
        edges.append((scope.start_ns or 0, scope.end_ns or 0))
    session.stop()
    assert [number for number, _ in told.rows] == [3, 6, 7]
    begins = [edges[0][0], edges[2][1], edges[5][1]]
    ends = [edges[2][1], edges[5][1], edges[6][1]]
    for (_, values), begin_ns, end_ns, steps in zip(told.rows, begins, ends, (3, 3, 1), strict=True):
        step_j = values["energy/j_per_step"]
        assert holds(session.energy(begin_ns, end_ns), steps * step_j)
        assert values["energy/j_per_sample"] == pytest.approx(step_j / 4)
        assert values["energy/j_per_token"] == pytest.approx(step_j / 100)
        assert values["power/gpu0_w"] == pytest.approx(steps * step_j / (1e-9 * (end_ns - begin_ns)))
    totals = [values["energy/total_j"] for _, values in told.rows]
    steps_j = [steps * values["energy/j_per_step"] for (_, values), steps in zip(told.rows, (3, 3, 1), strict=True)]
    assert totals[2] - totals[0] == pytest.approx(steps_j[1] + steps_j[2])
    assert holds(session.energy(begins[0], ends[2]), sum(steps_j))
    assert holds(session.energy(session._began_ns, ends[2]), totals[2])


def test_seconds_do_for_a_program_without_steps(session: joulemap.Session, follow: Any) -> None:
    told = follow(seconds=0.05)
    until_s = time.monotonic() + 30
    while len(told.rows) < 2 and time.monotonic() < until_s:
        work(0.05)
    session.stop()
    assert len(told.rows) >= 2
    assert all(set(values) == {"power/gpu0_w", "energy/total_j"} for _, values in told.rows)
    assert [values["energy/total_j"] for _, values in told.rows] == sorted(v["energy/total_j"] for _, v in told.rows)


def test_a_step_longer_than_the_pace_has_all_of_its_joules(session: joulemap.Session, follow: Any) -> None:
    told = follow(seconds=0.05)
    with session.step() as step:
        until_s = time.monotonic() + 30
        while len(told.rows) < 2 and time.monotonic() < until_s:
            work(0.05)
    session.stop()
    of_steps = [values for _, values in told.rows if "energy/j_per_step" in values]
    assert len(of_steps) == 1
    assert len(told.rows) > 2
    assert holds(step.energy(), of_steps[0]["energy/j_per_step"])


def test_a_run_shorter_than_the_pace_is_told_at_its_end(session: joulemap.Session, follow: Any) -> None:
    told = follow(seconds=60)
    with session.step() as first:
        work(0.05)
    with session.step() as last:
        work(0.05)
    session.stop()
    assert [number for number, _ in told.rows] == [2]
    steps = session.energy(first.start_ns or 0, last.end_ns or 0)
    assert holds(steps, 2 * told.rows[0][1]["energy/j_per_step"])


def test_a_step_in_a_step_is_a_part_of_it(session: joulemap.Session, follow: Any) -> None:
    told = follow(every=1)
    for _ in range(2):
        with session.step(samples=8), session.step(samples=4):
            work(0.02)
    session.stop()
    assert [number for number, _ in told.rows] == [1, 2]
    assert session.report().totals.steps == 2


def test_steps_that_overlap_count_as_in_a_report(session: joulemap.Session, follow: Any) -> None:
    told = follow(every=1)
    meet = threading.Barrier(2)

    def serve() -> None:
        for _ in range(3):
            meet.wait()
            with session.step():
                work(0.02)
            meet.wait()

    other = threading.Thread(target=serve)
    other.start()
    for _ in range(3):
        with session.step(tokens=7):
            meet.wait()
            meet.wait()
    other.join()
    session.stop()
    assert told.rows[-1][0] == session.report().totals.steps == 6
    assert told.finals[0][0].numbers()["joulemap/tokens"] == 21


def test_steps_of_tasks_count_as_in_a_report_whichever_ends_first(session: joulemap.Session, follow: Any) -> None:
    told = follow(every=1)

    async def three_at_a_time(order: tuple[int, ...]) -> None:
        gates = [asyncio.Event() for _ in order]
        opened: list[int] = []

        async def work_on(place: int) -> None:
            with session.step(tokens=7), session.window(f"part {place}"):
                with session.step(tokens=5):  # a part of that
                    opened.append(place)
                await gates[place].wait()

        tasks = [asyncio.create_task(work_on(place)) for place in range(len(order))]
        while len(opened) < len(order):
            await asyncio.sleep(0)
        for place in order:
            gates[place].set()
            await tasks[place]

    for order in ((2, 1, 0), (0, 1, 2), (1, 0, 2)):
        asyncio.run(three_at_a_time(order))
    with session.step(tokens=3):  # which holds all that its own call does
        asyncio.run(three_at_a_time((2, 1, 0)))
    session.stop()
    totals = session.report().totals
    assert told.rows[-1][0] == totals.steps == 10
    assert told.finals[0][0].numbers()["joulemap/tokens"] == totals.tokens == 66


def batches(session: joulemap.Session, told_too: bool) -> None:
    model = nn.Linear(8, 8)
    session.watch(model)
    for (x,) in DataLoader(TensorDataset(torch.randn(24, 8)), batch_size=4):
        if told_too:
            with session.step(samples=1):
                model(x)
        else:
            model(x)


@pytest.mark.parametrize("told_too", [False, True])
def test_batches_that_are_found_are_steps_until_the_program_tells_its_own(
    session: joulemap.Session, follow: Any, told_too: bool
) -> None:
    told = follow(every=2)
    batches(session, told_too)
    session.stop()
    totals = session.report().totals
    assert [number for number, _ in told.rows] == [2, 4, 6]
    assert totals.steps == 6
    values = told.rows[1][1]
    assert values["energy/j_per_step"] == pytest.approx(values["energy/j_per_sample"] * (1 if told_too else 4))


def test_numbers_are_those_of_the_program(session: joulemap.Session, follow: Any) -> None:
    done = 100
    told = follow(every=2, step=lambda: done)
    for _ in range(4):
        with session.step():
            work(0.01)
            done += 10
    session.stop()
    assert [number for number, _ in told.rows] == [120, 140]
    assert told.finals[0][1] == 140


def test_what_is_not_known_is_left_out(session: joulemap.Session, follow: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joulemap.Session, "energy", lambda *_, **__: joulemap.types.Sum(None, None, None))
    told = follow(every=1)
    with session.step(samples=3):
        work(0.01)
    session.stop()
    assert told.rows == []


def test_gpus_have_watts_each_and_their_sum(tmp_path: Path) -> None:
    told, one = Told(), Told()
    with joulemap.Session(sim="h200,a100", cpu=False) as run, Sink(run, told, every=2), Sink(run, one, every=2, gpu=1):
        for _ in range(2):
            with run.step():
                work(0.05)
    values = told.rows[0][1]
    assert values["power/total_w"] == pytest.approx(values["power/gpu0_w"] + values["power/gpu1_w"])
    assert set(one.rows[0][1]) == {"power/gpu1_w", "energy/total_j", "energy/j_per_step"}


def test_a_logger_that_fails_is_one_warning(session: joulemap.Session) -> None:
    class Broken(Told):
        def scalars(self, values: dict[str, float], number: int, wall_s: float) -> None:
            raise OSError("the server is gone")

        def final(self, told: Final, number: int) -> None:
            raise OSError("the server is still gone")

    Sink(session, Broken(), every=1)
    with pytest.warns(RuntimeWarning, match="joules do not reach a list: OSError: the server is gone") as warned:
        for _ in range(3):
            with session.step():
                work(0.01)
        session.stop()
    assert len(warned) == 1
    assert session.report().totals.steps == 3


def test_a_number_that_fails_is_one_warning(session: joulemap.Session, follow: Any) -> None:
    told = follow(every=1, step=lambda: 1 // 0)
    with pytest.warns(RuntimeWarning, match="ZeroDivisionError") as warned:
        for _ in range(2):
            with session.step():
                work(0.01)
        session.stop()
    assert len(warned) == 1
    assert [number for number, _ in told.rows] == [1, 2]


def test_a_logger_that_is_slow_does_not_hold_up_the_steps(session: joulemap.Session) -> None:
    held = threading.Event()

    class Slow(Told):
        def scalars(self, values: dict[str, float], number: int, wall_s: float) -> None:
            super().scalars(values, number, wall_s)
            held.wait(30)

    slow = Slow()
    Sink(session, slow, every=1)
    for _ in range(2000):  # more than are kept: those left out are in the next
        session.step().begin().end()
    held.set()
    session.stop()
    assert slow.rows[-1][0] == 2000
    assert len(slow.rows) < 2000


def test_a_logger_that_hangs_is_left_alone_at_the_end(
    session: joulemap.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(joulemap.sinks._sink, "_LAST_S", 0.1)
    held = threading.Event()

    class Hanging(Told):
        def scalars(self, values: dict[str, float], number: int, wall_s: float) -> None:
            held.wait(30)

    hanging = Hanging()
    Sink(session, hanging, every=1)
    with session.step():
        work(0.05)
    with pytest.warns(RuntimeWarning, match="joules do not reach a list: TimeoutError"):
        session.stop()
    assert hanging.finals == []
    held.set()


def test_a_sink_that_is_closed_follows_no_longer(session: joulemap.Session) -> None:
    told = Told()
    with Sink(session, told, every=1) as sink:
        with session.step():
            work(0.01)
        assert repr(sink) == "<joulemap.types.Sink to a list: open>"
    assert repr(sink) == "<joulemap.types.Sink to a list: closed>"
    with session.step():
        work(0.01)
    session.stop()
    assert [number for number, _ in told.rows] == [1]
    assert (len(told.finals), told.closed) == (1, 1)
    assert not any(thread.name == "joulemap sink" for thread in threading.enumerate())


def test_a_child_of_a_fork_tells_nothing(session: joulemap.Session, follow: Any) -> None:
    told = follow(every=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads
        child = os.fork()
    if child == 0:
        session.step().begin().end()
        os._exit(len(told.rows))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    with session.step():
        work(0.01)
    session.stop()
    assert [number for number, _ in told.rows] == [1]


def test_the_end_is_told_with_intervals_words_and_a_table(session: joulemap.Session, follow: Any) -> None:
    told = follow(figures=("power_time",))
    for _ in range(3):
        with session.step(samples=2):
            work(0.05)
    session.stop()
    (final, number) = told.finals[0]
    totals = session.report().totals
    numbers, words = final.numbers(), final.texts()
    assert number == 3
    assert numbers["joulemap/total_energy_j"] == totals.total_energy_j
    assert numbers["joulemap/total_low_j"] == totals.total_low_j
    assert numbers["joulemap/j_per_step"] == pytest.approx((totals.total_energy_j or 0) / 3)
    assert "joulemap/tokens" not in numbers  # none were told
    assert "joulemap/j_per_token" not in numbers
    assert all(value == value for value in numbers.values())
    assert words["joulemap/verdict"] == session.report().verdict
    assert words["joulemap/simulated"] == "yes"
    assert "blocks.0" in final.table()
    assert next(row[2:4] for row in final.rows() if row[0] == "blocks.0") == [1, 3]  # members, calls
    assert [key for key, _ in final.pictures()] == ["power_time"]


def test_a_recording_is_told_at_once(tmp_path: Path) -> None:
    told = Told()
    with joulemap.Recording(unpack("small", tmp_path)) as recording:
        Sink(recording, told)
    assert (told.rows, len(told.finals), told.closed) == ([], 1, 1)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"every": 0}, "every is a whole number from 1"),
        ({"every": 1.5}, "every is a whole number"),
        ({"seconds": 0}, "seconds is a number above 0"),
        ({"every": 1, "seconds": 1}, "exclude each other"),
        ({"step": 3}, "step is callable"),
        ({"gpu": "h200"}, "gpu is the index or UUID of a GPU"),
        ({"figures": ["pie"]}, "'pie' is not known"),
    ],
)
def test_a_wrong_argument_is_named(session: joulemap.Session, options: dict[str, Any], words: str) -> None:
    with pytest.raises((TypeError, ValueError), match=words):
        Sink(session, Told(), **options)


def test_what_is_no_writer_is_refused(session: joulemap.Session) -> None:
    with pytest.raises(TypeError, match="writer is a SummaryWriter or a folder, not 3"):
        joulemap.sinks.log_to_tensorboard(session, 3)
