"""Children that a program forks while it is measured: none of them hangs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

FORKS = 12  # of each kind of child
LOADS = 5

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
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_no_child_of_a_measured_program_hangs(tmp_path: Path) -> None:
    assert run(tmp_path, FORKS, 0) == f"{5 * FORKS} children ended as they should: True\n"


def test_no_worker_of_a_data_loader_hangs_beside_a_session(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    assert run(tmp_path, 0, LOADS) == f"{LOADS} children ended as they should: True\n"
