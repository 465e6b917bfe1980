"""Children that a program forks while it is measured: none of them hangs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import joulemap
import pytest
from joulemap import _session as sessions
from joulemap.compat import _shared
from joulemap.compat.profiler import caps
from joulemap.plots import style
from joulemap.sinks._sink import Sink

FORKS = 12  # of each kind of child
LOADS = 5
MOST_S = 300  # for a program that does all of this; it hangs if it takes longer

# Each kind of child is forked so often, beside threads that tell of spans and read the run, and has a minute to end.
PROGRAM = """
import os, signal, sqlite3, sys, threading, time

import joulemap

def opens_a_session():
    with joulemap.Session() as session, session.window("of a child"):
        pass

def uses_sqlite():
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE items (id INTEGER)")
    connection.execute("INSERT INTO items VALUES (1)")
    connection.close()

def reads_its_parents_recording():
    recording = joulemap.Recording("parent.joulemap")
    recording.energy(0, time.monotonic_ns())

def leaves_by_the_door():
    sys.exit(0)

def fork(work):
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(60)
        if work is leaves_by_the_door:
            work()  # out of the with block around all of this, which is its parent's
        try:
            work()
        except BaseException as error:
            print(f"{work.__name__}: {error!r}", flush=True)
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if status != 0:
        print(f"{work.__name__}: it ended with {status:#x}", flush=True)
    return status == 0

def load():
    import torch

    class Squares(torch.utils.data.Dataset):
        def __len__(self):
            return 8

        def __getitem__(self, at):
            uses_sqlite()
            return torch.tensor(at * at)

    loader = torch.utils.data.DataLoader(Squares(), batch_size=2, num_workers=2, timeout=60)
    return [int(x) for batch in loader for x in batch] == [at * at for at in range(8)]

def main(times, loads):
    over = threading.Event()
    with joulemap.Session(path="parent.joulemap") as session:
        def tell():
            while not over.is_set():
                for _ in range(200):
                    with session.window("work"):
                        pass
                time.sleep(0.001)

        def ask():
            while not over.is_set():
                now = time.monotonic_ns()
                session.energy(now - 10**9, now)

        threads = [threading.Thread(target=work) for work in (tell, ask)]
        for thread in threads:
            thread.start()
        works = (opens_a_session, uses_sqlite, uses_sqlite, reads_its_parents_recording, leaves_by_the_door)
        fine = [fork(work) for _ in range(times) for work in works]
        fine += [load() for _ in range(loads)]
        over.set()
        for thread in threads:
            thread.join()
    print(len(fine), "children ended as they should:", all(fine))

main(*map(int, sys.argv[1:]))
"""


def run(tmp_path: Path, forks: int, loads: int) -> str:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, str(program), str(forks), str(loads)],
        cwd=tmp_path,
        env={**os.environ, "JOULEMAP_SIM": "h200"},
        capture_output=True,
        text=True,
        check=False,
        timeout=MOST_S,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_no_child_of_a_measured_program_hangs(tmp_path: Path) -> None:
    assert run(tmp_path, FORKS, 0) == f"{5 * FORKS} children ended as they should: True\n"


def test_no_worker_of_a_data_loader_hangs_beside_a_session(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    assert run(tmp_path, 0, LOADS) == f"{LOADS} children ended as they should: True\n"


# ---- locks of Python, held by another thread as the process forks


@contextmanager
def elsewhere(lock: Any) -> Iterator[None]:
    """Let another thread hold it."""
    held, over = threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            held.set()
            over.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    try:
        yield
    finally:
        over.set()
        thread.join()


def in_child(work: Callable[[], object]) -> int:
    """Return how a forked child ended that did it: 0, or the number of what it raised or was killed by."""
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(30)
        try:
            work()
        except BaseException:
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1]


def draw() -> None:
    with style.settings():
        pass


def measure() -> None:
    with _shared.shared.held(kernels=False):
        pass


@pytest.mark.parametrize(
    ("lock", "work"),
    [
        pytest.param(_shared.shared._lock, measure, id="session of the tools"),
        pytest.param(sessions._current.lock, measure, id="session"),
        pytest.param(caps._lock, lambda: caps.held(0), id="caps"),
        pytest.param(style._lock, draw, id="figures"),
    ],
)
def test_a_child_does_not_wait_for_a_thread_of_its_parent(
    lock: Any, work: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JOULEMAP_SIM", "h200")
    with elsewhere(lock):
        assert in_child(work) == 0


@pytest.fixture
def recording(tmp_path: Path) -> joulemap.Recording:
    with joulemap.Session(path=tmp_path / "run.joulemap", sim="h200") as session, session.window("work"):
        pass
    return joulemap.Recording(tmp_path / "run.joulemap")


@pytest.mark.parametrize("what", ["report", "timeline", "damage", "close"])
def test_a_child_reads_the_recording_that_a_thread_of_its_parent_was_reading(
    recording: joulemap.Recording, what: str
) -> None:
    def ask() -> None:
        asked = getattr(recording, what)
        if callable(asked):
            asked()

    with elsewhere(recording._lock):
        assert in_child(ask) == 0


def test_a_thread_that_forks_under_a_lock_has_it_in_the_child(recording: joulemap.Recording) -> None:
    lock = recording._lock

    def give_back_and_take() -> None:
        lock.__exit__()
        recording.report()

    with lock:
        assert in_child(give_back_and_take) == 0


def test_a_child_leaves_its_parents_sink_alone() -> None:
    told: list[int] = []

    class Logger:
        name = "a list"

        def scalars(self, values: dict[str, float], number: int, wall_s: float) -> None:
            told.append(number)

        def final(self, final: object, number: int) -> None:
            told.append(number)

        def close(self) -> None:
            pass

    def close() -> None:
        begun = len(told)
        sink.close()
        if len(told) > begun:
            os._exit(2)

    with joulemap.Session(sim="h200") as session:
        sink = Sink(session, Logger())
        with elsewhere(sink._wake._cond):  # type: ignore[attr-defined]
            assert in_child(close) == 0
    assert told
