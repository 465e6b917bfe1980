"""A Session's life, its scopes and its reports, on the simulated board."""

from __future__ import annotations

import asyncio
import gc
import inspect
import os
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import AsyncGenerator, Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import joulemap
import pytest
from joulemap import _core
from joulemap._cli import native_folder
from ring_reader import Span, read_spans
from values import known

Spans = Callable[..., list[Span]]


def run_python(code: str, timeout: float = 120, /, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program of its own; its output is what the test looks at."""
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


# ---- life ----


def test_the_board_is_named_as_simulated() -> None:
    boards = joulemap.boards(sim="h200")
    assert [board.simulated for board in boards if board.backend == "nvml"] == [True]
    assert "H200" in boards[0].name


def test_nothing_is_written_unless_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with joulemap.Session(sim="h200", cpu=False) as run, run.phase("work"):
        time.sleep(0.05)
    assert list(tmp_path.iterdir()) == []


def test_a_path_gives_a_file_that_can_be_read_again(tmp_path: Path) -> None:
    path = tmp_path / "run.joulemap"
    with joulemap.Session(path, sim="h200", cpu=False) as run, run.phase("work"):
        time.sleep(0.05)
    in_memory = run.report("board").totals.total_energy_j
    recording = joulemap.Recording(path)
    assert recording.damage is None
    assert recording.meta("simulated") == "1"
    assert recording.report("board").totals.total_energy_j == pytest.approx(in_memory)


def test_an_existing_file_is_replaced_only_if_asked(tmp_path: Path) -> None:
    path = tmp_path / "run.joulemap"
    path.write_text("precious")
    with pytest.raises(joulemap.Error, match=r"run\.joulemap"):
        joulemap.Session(path, sim="h200").start()
    assert path.read_text() == "precious"
    with joulemap.Session(path, sim="h200", overwrite=True, cpu=False):
        pass
    assert path.read_bytes().startswith(b"SQLite format 3")


def test_a_second_session_is_refused_with_a_cause(session: joulemap.Session) -> None:
    with pytest.raises(RuntimeError, match="open already"):
        joulemap.Session(sim="h200").start()
    assert joulemap.current_session() is session


def test_a_session_after_another_is_fine() -> None:
    for _ in range(2):
        with joulemap.Session(sim="h200", cpu=False) as run:
            assert run.running
        assert joulemap.current_session() is None


def test_boards_of_a_session_are_its_own_also_while_the_one_before_is_kept() -> None:
    with joulemap.Session(sim="h200", cpu=False) as first:
        pass
    with joulemap.Session(sim="a100", cpu=False) as second:
        time.sleep(0.05)
    assert [row.name for row in first.report("board").rows if row.kind == "gpu"] == ["NVIDIA H200"]
    assert [row.name for row in second.report("board").rows if row.kind == "gpu"] == ["NVIDIA A100-SXM4-80GB"]


def test_boards_are_those_asked_for_though_somebody_left_others_open() -> None:
    """A PyTorch built for CUDA finds the simulated NVML by its name, opens it and never lets go."""
    code = """
    import ctypes, os
    import joulemap

    def boards(sim):
        with joulemap.Session(sim=sim, cpu=False) as run:
            joined = foreign.nvmlInit_v2()
            others = [board for board in joulemap.boards(sim="h200") if board.backend == "nvml"]
        return [row.name for row in run.report("board").rows if row.kind == "gpu"], joined, others

    with joulemap.Session(sim="v100", cpu=False):
        foreign = ctypes.CDLL("libnvidia-ml.so.1")
        assert foreign.jmsim_missing(b"nvmlInit_v2") == 0 and foreign.nvmlInit_v2() == 0
    print(boards("rtx3090,h100"))
    for sim in ("z900", "rtx3090,"):
        try:
            boards(sim)
        except joulemap.NoDeviceError as error:
            print(str(error).split(";")[0])
    print(boards("v100"))
    os.environ["JOULEMAP_SIM_FAULTS"] = "nvmlDeviceGetName=TIMEOUT"
    print(boards("v100"))
    """
    done = run_python(code, 120, **{name: "" for name in os.environ if name.startswith("JOULEMAP_SIM")})
    assert done.stdout.splitlines() == [
        "(['NVIDIA GeForce RTX 3090', 'NVIDIA H100 80GB HBM3'], 0, [])",
        'no GPU to read on this machine: no board profile "z900"',
        'no GPU to read on this machine: no board profile ""',
        "(['Tesla V100-SXM2-16GB'], 0, [])",
        "(['NVIDIA GPU 0'], 0, [])",
    ], done.stderr
    assert done.stderr.count("end that run first") == 3


@pytest.mark.parametrize("wrong", [0, -1, 61, float("nan"), "2", [2]])
def test_counters_are_sampled_between_never_and_always(wrong: Any) -> None:
    with pytest.raises((ValueError, TypeError), match="counters is a number"):
        joulemap.Session(sim="h200", counters=wrong)


@pytest.mark.parametrize(("counters", "asked"), [(True, True), (0.5, True), (False, False), (None, False)])
def test_who_asks_for_counters_is_told_why_there_are_none(
    counters: bool | float | None, asked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JOULEMAP_CUDA", "/nowhere/libcuda.so.1")
    with joulemap.Session(sim="h200", cpu=False, counters=counters) as run:
        until_s = time.monotonic() + 30
        while asked and run.report().quality.counters_missing is None and time.monotonic() < until_s:
            time.sleep(0.05)
    reason = run.report().quality.counters_missing
    assert (reason is not None) == asked
    assert reason is None or "/nowhere/libcuda.so.1" in reason


def test_what_sampling_counters_draws_is_in_the_total_and_in_no_other_row() -> None:
    total_w, others_w = [], []
    for counters in (False, 60):
        with joulemap.Session(sim="h200", cpu=False, counters=counters) as run:
            time.sleep(2.5)
        report = run.report(by="layer")
        total_j, duration_s = known(report.totals.total_energy_j), known(report.totals.duration_s)
        sampling_j = sum(known(row.energy_j) for row in report.rows if row.kind == "sampling")
        total_w.append(total_j / duration_s)
        others_w.append((total_j - sampling_j) / duration_s)
    assert total_w[1] > total_w[0] + 20  # 35 W more were drawn for 2 s and more
    assert others_w[1] == pytest.approx(others_w[0], abs=4)
    assert known(report.quality.sampler_energy_j) == pytest.approx(sampling_j)
    assert any("sampling its hardware counters" in note for note in report.notes)


def test_a_session_runs_once() -> None:
    with joulemap.Session(sim="h200", cpu=False) as run:
        pass
    with pytest.raises(RuntimeError, match="make a new one"):
        run.start()


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_an_exception_inside_stops_the_run_and_passes(error: type[BaseException]) -> None:
    with pytest.raises(error), joulemap.Session(sim="h200", cpu=False) as run, run.phase("work"):
        raise error
    assert not run.running
    assert run.report("phase").totals.readings >= 0


def test_a_session_that_was_never_stopped_ends_with_the_program(tmp_path: Path) -> None:
    path = tmp_path / "run.joulemap"
    done = run_python(
        f"""
        import joulemap, time
        run = joulemap.Session({str(path)!r}, sim="h200", cpu=False).start()
        with run.phase("work"):
            time.sleep(0.05)
        """
    )
    assert (done.returncode, done.stderr) == (0, "")
    recording = joulemap.Recording(path)
    assert recording.damage is None
    assert "work" in [row.name for row in recording.report("phase").rows]


def test_without_any_board_the_error_tells_cause_and_cure() -> None:
    done = run_python(
        """
        import joulemap
        try:
            joulemap.Session(cpu=False).start()
        except joulemap.NoDeviceError as error:
            print(error.status, "|", error, "|", error.hint)
        """,
        JOULEMAP_SIM="",
        JOULEMAP_NVML="/nonexistent/libnvidia-ml.so.1",
    )
    assert done.stdout.startswith("NO_DEVICE |"), done.stderr
    assert "joulemap doctor" in done.stdout


def test_sessions_leak_neither_memory_nor_descriptors() -> None:
    def once() -> None:
        with joulemap.Session(sim="h200", cpu=False) as run, run.phase("work"):
            pass
        run.report("phase")

    def descriptors() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    once()
    gc.collect()
    before = descriptors()
    for _ in range(3):
        once()
    gc.collect()
    assert descriptors() == before


@pytest.mark.filterwarnings("ignore:a step 'step' is not recorded")
def test_reports_scopes_and_errors_leak_no_memory() -> None:
    with joulemap.Session(sim="h200", cpu=False) as run, run.phase("work"):
        time.sleep(0.1)

    def once() -> None:
        report = run.report("phase")
        assert report.rows
        assert report.table()
        assert report.to_json()
        assert report.totals.simulated
        assert report.notes
        for _ in range(100):
            with pytest.raises(ValueError, match="colour"):
                run.report("colour")
            with pytest.raises(joulemap.Error):
                joulemap.Recording("/nonexistent/file")
            with run.step(samples=3):
                pass

    def resident_kb() -> int:
        gc.collect()
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4

    for _ in range(20):
        once()
    before = resident_kb()
    for _ in range(100):
        once()
    # 10,000 leaked errors or scopes of 200 bytes would come to 2 MB, a hundred reports to more.
    assert resident_kb() - before < 1000


# ---- scopes ----


def test_scopes_nest_and_carry_their_samples(session: joulemap.Session, spans: Spans) -> None:
    with session.phase("train"), session.epoch(), session.step(samples=32), session.window("inner"):
        pass
    found = spans()
    assert [(span.kind, span.name, span.samples) for span in found] == [
        ("phase", "train", 0),
        ("epoch", "epoch", 0),
        ("step", "step", 32),
        ("window", "inner", 0),
    ]
    assert found[-1].path() == ["train", "epoch", "step", "inner"]
    assert all(span.end_ns is not None for span in found)


class FromAnArray:
    """A whole number as NumPy's and PyTorch's are."""

    def __index__(self) -> int:
        return 48


def test_samples_may_come_from_an_array(session: joulemap.Session, spans: Spans) -> None:
    with session.step(samples=FromAnArray()):  # type: ignore[arg-type]
        pass
    assert [span.samples for span in spans("step")] == [48]
    for wrong, error in ((2.5, TypeError), ("32", TypeError), (-1, ValueError), (2**32, ValueError)):
        with pytest.raises(error, match="samples is a whole number"):
            session.step(samples=wrong)  # type: ignore[arg-type]


def test_samples_of_steps_add_up_in_reports(session: joulemap.Session) -> None:
    assert session.report().totals.samples is None
    with session.phase("train"):
        for _ in range(2):
            with session.step(samples=32):
                for _ in range(4):  # of the same 32
                    with session.step(samples=8, name="part"):
                        pass
        with session.step():
            pass
    with session.phase("validate"), session.step(samples=5):
        pass
    with session.phase("idle"):
        pass
    report = session.report("phase")
    told = {row.path: row.samples for row in report.rows if row.kind in ("phase", "step")}
    assert told == {
        "train": 64,
        "train/step": 64,
        "train/step/step": 64,
        "validate": 5,
        "validate/step": 5,
        "idle": None,
    }
    assert report.totals.samples == report.to_dict()["samples"] == 69
    assert report.totals.steps == report.to_dict()["steps"] == 4
    validated = session.report("phase", phase="validate").totals
    assert (validated.steps, validated.samples) == (1, 5)
    assert session.report("phase", phase="idle").totals.steps is None
    single = [row.samples for row in session.report("span").rows if row.kind == "step"]
    assert sorted(single, key=lambda samples: samples or 0) == [None, 5] + 8 * [8] + 2 * [32]
    assert {row.samples for row in session.report("layer").rows} == {None}


def test_tokens_may_be_told_until_the_step_ends(session: joulemap.Session) -> None:
    with session.phase("generate"):
        with session.step(samples=2, tokens=100):
            pass
        with session.step(tokens=1) as step:
            step.samples, step.tokens = 3, FromAnArray()  # type: ignore[assignment]
    report = session.report("phase")
    assert (report.totals.samples, report.totals.tokens) == (5, 148)
    assert {row.path: row.tokens for row in report.rows if row.kind == "phase"} == {"generate": 148}
    for wrong in (-1, 2**32):
        with pytest.raises(ValueError, match="tokens is a whole number"):
            session.step(tokens=wrong)
        with pytest.raises(ValueError, match="samples and tokens are whole numbers from 0"):
            step.tokens = wrong


def test_a_number_is_no_name(session: joulemap.Session, spans: Spans) -> None:
    with session.phase("first"), session.phase("second"):
        pass
    for scope in (session.phase, session.epoch, session.window):
        with pytest.raises(TypeError, match=r"the name of an? \w+ is a text, not 2 \(int\)"):
            scope(2)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="the name of a step is a text, not None"):
        session.step(4, None)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="the name of a mark is a text"):
        session.mark(2)  # type: ignore[arg-type]
    assert [span.name for span in spans()] == ["first", "second"]


@pytest.mark.parametrize(("name", "shown"), [(os.fsdecode(b"caf\xe9"), "caf\\udce9"), ("a\0b\0", "a\\x00b\\x00")])
def test_no_name_ends_a_program_or_is_cut(tmp_path: Path, name: str, shown: str) -> None:
    path = tmp_path / "run.joulemap"
    with joulemap.Session(path, sim="h200", cpu=False) as run:
        with joulemap.request(name) as one:
            with run.phase(name), run.step(name=name), run.window(name, type=name) as window:
                run.mark(name, file=name)
            with run.step(requests={one: 1}), _core.Span(_core.SPAN_KINDS["nvtx"], name):
                time.sleep(0.01)
            _core.intern(name)
        assert known(window.report().totals.total_energy_j) > 0
        assert known(run.report(phase=name).totals.total_energy_j) > 0
        assert shown in {row.path for row in run.report("request").rows}
    timeline = joulemap.Recording(path).timeline()
    assert {span.name for span in timeline.spans} >= {shown}
    assert not any(span.name == "a" for span in timeline.spans)
    assert [(mark.name, mark.meta) for mark in timeline.marks if mark.name == shown] == [(shown, {"file": name})]
    assert known(joulemap.Recording(path).report(phase=shown).totals.total_energy_j) > 0


def test_steps_and_epochs_have_names_of_their_own_one_by_one(session: joulemap.Session) -> None:
    for name in ("warm", "cold"):
        with session.epoch(f"{name} epoch"), session.step(name=name):
            time.sleep(0.01)
    rows = session.report("span").rows
    assert [row.name for row in rows if row.kind == "step"] == ["warm", "cold"]
    assert [row.name for row in rows if row.kind == "epoch"] == ["warm epoch", "cold epoch"]


def test_a_window_may_be_a_class_of_work_also_as_a_decorator(session: joulemap.Session, spans: Spans) -> None:
    with session.window("one", type="Linear(2, 3)"):
        time.sleep(0.05)

    @session.window("two", type="Linear(2, 3)")
    def work() -> None:
        time.sleep(0.05)

    work()
    assert [(span.name, span.type) for span in spans("window")] == [("one", "Linear(2, 3)"), ("two", "Linear(2, 3)")]
    row = next(row for row in session.report("type").rows if row.name == "Linear(2, 3)")
    assert row.calls == 2
    with pytest.raises(TypeError, match="a type is a text, not 3"):
        session.window("three", type=3)  # type: ignore[arg-type]


def test_a_report_on_what_is_complete_waits_for_nothing_newer(
    session: joulemap.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    flush = session.flush

    def counted(timeout_s: float = 10.0) -> bool:
        waits.append(timeout_s)
        return flush(timeout_s)

    monkeypatch.setattr(session, "flush", counted)
    begin_ns = time.monotonic_ns()
    time.sleep(0.2)
    end_ns = time.monotonic_ns()
    first = session.report("board", from_ns=begin_ns, to_ns=end_ns).totals
    assert len(waits) == 1
    again = session.report("board", from_ns=begin_ns, to_ns=end_ns).totals
    assert len(waits) == 1
    assert known(again.total_energy_j) == pytest.approx(known(first.total_energy_j), rel=0.02)
    session.report("board", from_ns=begin_ns, to_ns=time.monotonic_ns())
    session.report("board")
    assert len(waits) == 3


def test_a_scope_decorates_functions(session: joulemap.Session, spans: Spans) -> None:
    @session.window("add")
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b if a == 0 else add(a - 1, b + 1)

    assert add(2, b=3) == 5
    assert add.__name__ == "add"
    assert add.__doc__ == "Add."
    assert [span.path() for span in spans("window")] == [["add"], ["add"] * 2, ["add"] * 3]


def test_a_scope_decorates_coroutines(session: joulemap.Session, spans: Spans) -> None:
    @session.window("wait")
    async def wait() -> int:
        await asyncio.sleep(0.02)
        return 7

    assert asyncio.run(wait()) == 7
    (span,) = spans("window")
    assert span.end_ns is not None
    assert span.end_ns - span.start_ns >= 0.02e9


def test_a_scope_decorates_generators(session: joulemap.Session, spans: Spans) -> None:
    @session.window("stream")
    def stream(count: int) -> Generator[int, int, str]:
        total = 0
        for token in range(count):
            time.sleep(0.01)
            try:
                total += (yield token) or 0
            except KeyError:
                total += 100
        return f"said {total}"

    assert inspect.isgeneratorfunction(stream)
    assert stream.__name__ == "stream"
    talk = stream(3)
    time.sleep(0.02)  # nobody has asked yet
    asked_ns = time.monotonic_ns()
    assert next(talk) == 0
    assert talk.send(5) == 1
    assert talk.throw(KeyError()) == 2
    with pytest.raises(StopIteration, match="said 105"):
        next(talk)
    assert list(stream(0)) == []
    for token in stream(3):
        if token == 1:
            break  # and it ends there
    first, empty, cut = spans("window")
    assert first.start_ns >= asked_ns
    assert first.end_ns is not None
    assert first.end_ns - first.start_ns >= 0.03e9
    assert empty.end_ns is not None
    assert cut.end_ns is not None
    assert cut.end_ns - cut.start_ns >= 0.02e9


def test_a_scope_decorates_async_generators(session: joulemap.Session, spans: Spans) -> None:
    ended: list[str] = []

    @session.phase("stream")
    async def stream(count: int) -> AsyncGenerator[int, int]:
        try:
            for token in range(count):
                await asyncio.sleep(0.01)
                try:
                    token += (yield token) or 0
                except KeyError:
                    yield -1
        finally:
            ended.append("stream")

    async def listen() -> None:
        assert [token async for token in stream(3)] == [0, 1, 2]
        talk = stream(3)
        assert await talk.__anext__() == 0
        assert await talk.athrow(KeyError()) == -1
        assert await talk.asend(1) == 1
        await talk.aclose()
        with pytest.raises(ValueError, match="mine"):
            await stream(3).athrow(ValueError("mine"))

    assert inspect.isasyncgenfunction(stream)
    asyncio.run(listen())
    assert ended == ["stream", "stream"]
    first, cut = spans("phase")
    assert first.end_ns is not None
    assert first.end_ns - first.start_ns >= 0.03e9
    assert cut.end_ns is not None
    assert cut.end_ns - cut.start_ns >= 0.02e9


def test_tasks_that_stream_at_a_time_have_spans_of_their_own(session: joulemap.Session, spans: Spans) -> None:
    @session.window("task")
    async def stream() -> AsyncGenerator[int, None]:
        for token in range(3):
            await asyncio.sleep(0.01)
            yield token

    async def listen(wait_s: float) -> None:
        await asyncio.sleep(wait_s)
        async for _ in stream():
            pass

    async def all_of_them() -> None:
        await asyncio.gather(*(listen(0.005 * n) for n in range(5)))

    asyncio.run(all_of_them())
    found = spans("window")
    assert len(found) == 5
    assert all(span.end_ns is not None and span.end_ns - span.start_ns >= 0.03e9 for span in found)
    row = next(row for row in session.report("phase") if row.path == "task")
    ends = [span.end_ns for span in found if span.end_ns is not None]
    open_s = 1e-9 * (max(ends) - min(span.start_ns for span in found))
    assert row.calls == 5
    assert row.busy_s == pytest.approx(open_s, abs=1e-6)  # one of them is open all the time


def test_who_returns_what_yields_later_is_warned(session: joulemap.Session) -> None:
    class Model:
        @staticmethod
        def generate() -> Iterator[int]:
            yield 1

        def __call__(self) -> Iterator[int]:
            yield 2

    with pytest.warns(RuntimeWarning, match=r"'indirect' ends as its function returns: .*generator"):
        assert list(session.window("indirect")(lambda: Model.generate())()) == [1]
    assert list(session.window("object")(Model())()) == [2]  # an object that is called is looked into


def test_a_generator_that_is_given_up_cuts_nothing_off(session: joulemap.Session, spans: Spans) -> None:
    torch = pytest.importorskip("torch")
    model = torch.nn.Sequential(torch.nn.Linear(2, 2))

    def stream() -> Iterator[int]:
        with session.phase("inner"):
            yield 1

    class Around(torch.nn.Module):  # type: ignore[misc,name-defined]
        def forward(self, x: Any) -> Any:
            for _ in stream():
                break
            return model(x)

    around = Around()
    session.watch(around, name="around")
    around(torch.ones(1, 2))
    (span,) = spans("forward")
    (inner,) = spans("phase")
    assert span.end_ns is not None
    assert inner.end_ns is not None
    assert span.end_ns >= inner.end_ns


def test_a_scope_has_begin_and_end(session: joulemap.Session, spans: Spans) -> None:
    window = session.window("by hand").begin()
    with pytest.raises(RuntimeError, match="open already"):
        window.begin()
    window.end()
    window.end()
    window.begin().end()
    assert len(spans("window")) == 2


def test_scopes_outside_a_run_do_nothing() -> None:
    run = joulemap.Session(sim="h200", cpu=False)

    @run.window("decorated")  # which may be long before
    def work() -> None:
        pass

    with (
        pytest.warns(RuntimeWarning, match=r"a phase 'before' is not recorded: .* has not started"),
        run.phase("before"),
    ):
        pass
    with run.step():  # once is enough
        pass
    with run:
        work()
        folder = Path(run.environment()["JOULEMAP_RUN"])
        with run.phase("within"):
            pass
        names = [span.name for span in read_spans(folder)]
    with pytest.warns(RuntimeWarning, match="a window 'after' is not recorded: this Session has stopped") as warned:
        run.window("after").begin().end()
    assert warned[0].filename == __file__
    run.mark("after")
    assert names == ["decorated", "within"]
    other = joulemap.Session(sim="h200", cpu=False)
    with pytest.warns(RuntimeWarning, match="a mark 'before' is not recorded"):
        other.mark("before")


def test_marks_reach_the_recording(tmp_path: Path) -> None:
    import sqlite3

    path = tmp_path / "run.joulemap"
    with joulemap.Session(path, sim="h200", cpu=False) as run:
        run.mark("checkpoint", step=3, loss=0.5)
    with sqlite3.connect(path) as database:
        tables = {row[0] for row in database.execute("select name from sqlite_master")}
        assert "marks" in tables
        assert database.execute("select count(*) from marks").fetchone() == (1,)


class Loss:
    """A scalar as NumPy, PyTorch and JAX have them."""

    def __init__(self, value: object) -> None:
        self._value = value

    def item(self) -> object:
        if self._value is None:
            raise ValueError("can only convert an array of size 1 to a Python scalar")
        return self._value


def test_a_mark_takes_scalars_and_what_is_no_number_is_null(tmp_path: Path) -> None:
    import sqlite3

    path = tmp_path / "run.joulemap"
    with joulemap.Session(path, sim="h200", cpu=False) as run:
        run.mark("loss", value=Loss(0.5), epoch=Loss(3), said="NaN")
        run.mark("loss", value=float("nan"), each=[float("inf"), Loss(float("-inf")), 1.5], said="NaN")
        with pytest.raises(TypeError, match=r"nothing that JSON can hold: .*Loss"):
            run.mark("loss", value=Loss(None))
    with sqlite3.connect(path) as database:
        query = "select json_extract(meta, '$.value'), json_extract(meta, '$.said') from marks"
        assert database.execute(query).fetchall() == [(0.5, "NaN"), (None, "NaN")]
    marks = joulemap.Recording(path).timeline().marks
    assert marks[0].meta == {"value": 0.5, "epoch": 3, "said": "NaN"}
    assert marks[1].meta == {"value": None, "each": [None, None, 1.5], "said": "NaN"}


# ---- reports ----


def busy(seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def test_rows_of_a_report_add_up_to_its_total(session: joulemap.Session) -> None:
    for _ in range(3):
        with session.phase("work"):
            busy(0.05)
        time.sleep(0.05)
    report = session.report("phase")
    total = report.totals.total_energy_j
    assert total is not None
    assert total > 0
    assert sum(known(row.energy_self_j) for row in report.rows) == pytest.approx(total, rel=1e-6)
    (work,) = [row for row in report.rows if row.name == "work"]
    assert work.calls == 3
    assert known(work.energy_low_j) <= known(work.energy_j) <= known(work.energy_high_j)
    assert report.totals.simulated
    assert report.quality.lost_records == 0
    assert any("power_ring" in sensor for sensor in report.quality.sensors)


def test_a_window_reports_its_own_joules(session: joulemap.Session) -> None:
    with session.window("snippet") as window:
        busy(0.5)
    totals = window.report("board").totals
    assert window.start_ns is not None
    assert window.end_ns is not None
    assert totals.duration_s == pytest.approx((window.end_ns - window.start_ns) / 1e9, abs=1e-6)
    whole = session.report("board").totals.total_energy_j
    assert totals.total_energy_j is not None
    assert whole is not None
    assert 0 < totals.total_energy_j < whole


def test_a_report_comes_as_text_json_and_data_frame(session: joulemap.Session) -> None:
    with session.phase("work"):
        busy(0.2)
    report = session.report("phase")
    assert "work" in report.table()
    assert "work" in str(report)
    assert f"\nverdict   {report.verdict}: {report.quality.verdict_reason}" in report.table()
    assert report.verdict in ("good", "fair", "poor")
    assert f"rows, {report.verdict}>" in repr(report)
    parsed = report.to_dict()
    assert parsed["simulated"] is True
    assert parsed["quality"]["verdict"] == report.verdict
    assert {row["name"] for row in parsed["rows"]} == {row.name for row in report.rows}
    frame = report.to_pandas()
    assert list(frame["name"]) == [row.name for row in report.rows]


def test_an_unknown_key_is_refused_with_the_known_ones(session: joulemap.Session) -> None:
    with pytest.raises(ValueError, match="layer, kernel, type, phase, board, span"):
        session.report("colour")


def test_wrong_arguments_are_told_in_the_callers_words(session: joulemap.Session, tmp_path: Path) -> None:
    options: list[tuple[dict[str, Any], type[Exception], str]] = [
        ({"by": 3}, ValueError, "by=3 is not known: use one of layer"),
        ({"phase": 3}, TypeError, r"phase is a text, not 3 \(int\)"),
        ({"gpu": "0"}, ValueError, 'gpu is the index or UUID of a GPU, as 0, "cuda:0" or'),
        ({"gpu": 0.5}, TypeError, r"gpu is a whole number, not 0.5 \(float\)"),
        ({"gpu": True}, TypeError, "gpu is the index of a GPU, not True"),
        ({"prior": 3}, TypeError, r"prior is a path, not 3 \(int\)"),
        ({"model": 3}, TypeError, r"model is a path, not 3 \(int\)"),
        ({"from_ns": 2, "to_ns": 1}, ValueError, "to_ns=1 lies before from_ns=2"),
        ({"process_id": 1.5}, TypeError, "process_id is a whole number, not 1.5"),
        ({"from_ns": -1}, ValueError, "from_ns is a whole number from 0"),
        ({"to_ns": 2**63}, ValueError, "to_ns is a whole number from 0"),
    ]
    path = tmp_path / "run.joulemap"
    subprocess.run([native_folder() / "joulemap", "record", "--sim", "h200", "-o", path, "--", "true"], check=True)
    for arguments, error, words in options:
        for source in (session, joulemap.Recording(path)):
            with pytest.raises(error, match=words):
                source.report(**arguments)
    with pytest.raises(TypeError, match="timeout_s is a number of seconds, not 'soon'"):
        session.flush("soon")  # type: ignore[arg-type]
    assert session.flush(float("inf"))
    with pytest.raises(TypeError, match="sim is a text, not 1"):
        joulemap.Session(sim=1)  # type: ignore[arg-type]


def test_without_pandas_one_line_says_what_to_install() -> None:
    done = run_python(
        """
        import sys
        sys.modules["pandas"] = None
        import joulemap
        with joulemap.Session(sim="h200", cpu=False) as run:
            pass
        try:
            run.report("board").to_pandas()
        except ImportError as error:
            print(error)
        """
    )
    assert done.stdout == "data frames need pandas: pip install 'joulemap[pandas]'\n", done.stderr


def test_importing_joulemap_imports_nothing_heavy() -> None:
    done = run_python(
        """
        import sys
        import joulemap
        print(sorted({"torch", "pandas", "numpy", "matplotlib"} & set(sys.modules)))
        """
    )
    assert done.stdout == "[]\n", done.stderr


# ---- other processes ----


def test_a_forked_child_keeps_hands_off_the_parents_run(session: joulemap.Session) -> None:
    child = os.fork()
    if child == 0:
        code = 1
        try:
            session.stop()  # the parent's: nothing happens
            with session.phase("in the child"):
                pass
            code = 0 if joulemap.current_session() is None else 2
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert session.running
    names = [row.name for row in session.report("phase").rows]
    assert "in the child" in names


def test_a_child_with_the_environment_joins_the_run(session: joulemap.Session) -> None:
    done = run_python(
        """
        import joulemap, time
        with joulemap.Session() as run:
            assert run.attached
            with run.phase("joined"):
                time.sleep(0.05)
        """,
        **session.environment(),
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "joined" in [row.name for row in session.report("phase").rows]


def test_under_joulemap_record_a_session_attaches(tmp_path: Path) -> None:
    path = tmp_path / "run.joulemap"
    program = textwrap.dedent(
        """
        import joulemap, time
        with joulemap.Session() as run:
            with run.phase("inner"):
                time.sleep(0.05)
            print(run.attached, [row.name for row in run.report("phase").rows if row.name == "inner"])
            with run.phase("last"):
                time.sleep(0.05)
        print([row.name for row in run.report("phase").rows if row.name == "last"])
        """
    )
    command = ["-m", "joulemap._cli", "record", "--sim", "h200", "-o", str(path)]
    done = subprocess.run(
        [sys.executable, *command, "--", sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "True ['inner']\n['last']\n"
    rows = joulemap.Recording(path).report("phase").rows
    assert "inner" in [row.name for row in rows]


def test_a_phase_that_is_open_lasts_until_now(session: joulemap.Session) -> None:
    with session.phase("open") as phase:
        assert phase.start_ns is not None
        busy(0.3)
        asked_ns = time.monotonic_ns()
        row = next(row for row in session.report("phase") if row.path == "open")
    assert row.busy_s >= 1e-9 * (asked_ns - phase.start_ns)
    assert known(row.energy_j) > 10  # of 37 J


@pytest.mark.parametrize("command", [["{python}", "-c", "{code}"], ["sh", "-c", "'{python}' -c '{code}'; true"]])
def test_a_phase_of_a_killed_program_lasts_to_its_end(tmp_path: Path, command: list[str]) -> None:
    path = tmp_path / "run.joulemap"
    code = textwrap.dedent(
        """
        import joulemap, os, time
        run = joulemap.Session().start()
        phase = run.phase("solve").begin()
        end = time.monotonic() + 0.3
        while time.monotonic() < end:
            pass
        os.kill(os.getpid(), 9)
        """
    )
    subprocess.run(
        [sys.executable, "-m", "joulemap._cli", "record", "--sim", "h200", "-o", str(path), "--"]
        + [part.format(python=sys.executable, code=code) for part in command],
        capture_output=True,
        timeout=120,
        check=False,
    )
    recording = joulemap.Recording(path)
    span = next(span for span in recording.timeline().spans if span.name == "solve")
    row = next(row for row in recording.report("phase") if row.path == "solve")
    assert not span.ended
    assert 0.3 <= span.duration_s == pytest.approx(row.busy_s, abs=1e-6)
    assert known(row.energy_j) > 10


@pytest.mark.parametrize("clean", ["before", "after"])
def test_a_program_that_cleans_its_environment_is_in_the_recording(tmp_path: Path, clean: str) -> None:
    path = tmp_path / "run.joulemap"
    lines = ["import os", "os.environ.clear()", "import joulemap"]
    if clean == "after":
        lines = [lines[0], lines[2], lines[1]]
    lines += ["with joulemap.Session() as run, run.phase('in a clean room'): print(run.attached)"]
    command = ["-m", "joulemap._cli", "record", "--sim", "h200", "-o", str(path)]
    # The package is found by PYTHONPATH or where it is installed, both before the program begins.
    done = subprocess.run(
        [sys.executable, *command, "--", sys.executable, "-c", "\n".join(lines)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "True\n"
    assert "in a clean room" in [row.name for row in joulemap.Recording(path).report("phase").rows]


# ---- signals and threads ----


def test_the_sum_of_rows_is_each_with_all_below_it_once() -> None:
    with joulemap.Session(sim="h200") as run:
        for name in ("one", "two"):
            with run.phase(name):
                time.sleep(0.05)
    report = run.report(by="phase")
    everything = report.sum(lambda row: True)
    assert everything.energy_j == pytest.approx(report.totals.total_energy_j, rel=1e-9)
    one = next(row for row in report.rows if row.path == "one")
    alone = report.sum(lambda row: row.path == "one")
    assert alone.energy_j == pytest.approx(one.energy_j, rel=1e-9)
    assert known(alone.energy_low_j) <= known(alone.energy_j) <= known(alone.energy_high_j)
    assert report.sum(lambda row: False).energy_j == 0
    assert report.sum("on?") == alone
    assert report.sum("*") == everything
    with pytest.raises(joulemap.Error, match='no row\'s path matches "three"; paths are such as'):
        report.sum("three")
    with pytest.raises(joulemap.Error, match="row"):
        report._core(None).sum([10**6])
    with pytest.raises(TypeError):
        report._core(None).sum(["one"])  # type: ignore[list-item]


def test_a_signal_during_a_report_may_ask_for_another() -> None:
    done = run_python(
        """
        import joulemap, signal, time

        run = joulemap.Session(sim="h200").start()
        time.sleep(0.1)
        core = run._report_source(0)
        reports = []

        class Interrupted:  # the signal comes while the first report is being made
            def report(self, *args, **options):
                if not reports:
                    signal.raise_signal(signal.SIGALRM)
                return core.report(*args, **options)

        run._report_source = lambda until_ns: Interrupted()
        signal.signal(signal.SIGALRM, lambda *_: reports.append(None) or reports.append(run.report()))
        reports.append(run.report())
        print(len(reports), reports[-1].totals.total_energy_j > 0)
        signal.signal(signal.SIGALRM, lambda *_: run.stop())
        reports.clear()
        run.report()
        print(run.running)
        """,
        60,
    )
    assert (done.returncode, done.stdout) == (0, "3 True\nFalse\n"), done.stderr


def test_what_a_recording_says_of_itself_waits_for_its_reports(tmp_path: Path) -> None:
    path = tmp_path / "run.joulemap"
    with joulemap.Session(path, sim="h200"):
        time.sleep(0.05)
    recording = joulemap.Recording(path)
    answers: list[object] = []
    for ask in (lambda: recording.damage, lambda: recording.meta("simulated")):
        with recording._lock:
            thread = threading.Thread(target=lambda ask=ask: answers.append(ask()))
            thread.start()
            thread.join(0.2)
            assert thread.is_alive()
        thread.join()
    assert answers == [None, "1"]
