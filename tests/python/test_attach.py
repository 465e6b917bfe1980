"""A program that was started dormant, and `joulemap attach`: what is watched in it is seen from the moment on."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import joulemap
from joulemap._recording import Recording

COMMAND = (sys.executable, "-m", "joulemap")

PROGRAM = """
import sys, threading
import joulemap, torch

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU())
run = joulemap.Session()
run.start()
assert run.dormant and run.attached
run.watch(model)
over = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), over.set())).start()
print("ready", flush=True)
rounds, total = 0, 0.0
while not over.wait(0.001):
    with run.phase("serve"), run.step(samples=1):
        total += float(model(torch.ones(1, 8)).sum())
    rounds += 1
try:
    run.report()
except joulemap.Error as error:
    print(error)
run.stop()
expected = float(model(torch.ones(1, 8)).sum())
print("same" if abs(total / rounds - expected) < 1e-5 * abs(expected) + 1e-6 else "other")
"""


def _start(code: str, ready: str = "ready\n") -> subprocess.Popen[str]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("JOULEMAP_") or k == "JOULEMAP_CAPS_DIR"}
    process = subprocess.Popen(
        [*COMMAND, "dormant", "--", sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    assert process.stdout is not None
    assert "".join(process.stdout.readline() for _ in ready.splitlines()) == ready
    return process


def _attaching(pid: int, path: Path, seconds: float) -> list[str]:
    return [*COMMAND, "attach", "--sim", "h200", "--seconds", str(seconds), "--no-cpu", "-o", str(path), str(pid)]


def _attach(pid: int, path: Path, seconds: float = 0.5) -> str:
    done = subprocess.run(
        _attaching(pid, path, seconds),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stderr


def test_layers_of_a_dormant_session_are_seen_by_who_attaches(tmp_path: Path) -> None:
    process = _start(PROGRAM)
    words = _attach(process.pid, tmp_path / "first.joulemap")
    assert f"recording {process.pid} " in words
    _attach(process.pid, tmp_path / "second.joulemap")
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "was started dormant" in out
    assert f"joulemap attach {process.pid}" in out
    assert out.endswith("same\n")
    for name in ("first", "second"):
        with Recording(tmp_path / f"{name}.joulemap") as recording:
            rows = {row.name: row for row in recording.report(by="layer").rows}
            assert rows["0"].calls > 10
            assert rows["0"].type == "Linear(8, 8)"
            assert {row.name for row in recording.report(by="phase").rows} >= {"serve"}


WITHOUT_STEPS = """
import sys, threading
import joulemap, torch
from torch.nn.modules import module as modules

model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU())
own = vars(torch.nn.Module)["__call__"]
old = joulemap.Session().start()
old.stop()
run = joulemap.Session().start()
run.watch(model)
del old  # the end of that one is not the end of this one's waiting
with run.step():
    assert vars(torch.nn.Module)["__call__"] is own
over = threading.Event()
seen = []  # whether anything of joulemap's is in a call, as it changes

def serve():
    while not over.is_set():
        model(torch.ones(1, 8)).sum().backward()
        hooked = vars(torch.nn.Module)["__call__"] is not own or bool(modules._global_forward_hooks)
        if not seen or seen[-1] != hooked:
            seen.append(hooked)
            print(hooked, flush=True)

worker = threading.Thread(target=serve)
worker.start()
threading.Thread(target=lambda: (sys.stdin.read(), over.set())).start()
worker.join()
run.stop()
"""


def test_calls_are_pytorchs_own_while_nobody_is_attached(tmp_path: Path) -> None:
    process = _start(WITHOUT_STEPS, ready="False\n")
    assert process.stdin is not None and process.stdout is not None
    for name in ("first", "second"):
        _attach(process.pid, tmp_path / f"{name}.joulemap")
        assert [process.stdout.readline() for _ in range(2)] == ["True\n", "False\n"]
    process.stdin.close()
    assert process.stdout.read() == ""
    assert process.wait(timeout=60) == 0
    for name in ("first", "second"):
        with sqlite3.connect(tmp_path / f"{name}.joulemap") as file:
            spans = file.execute(
                "SELECT DISTINCT k.text, n.text FROM spans s, names n, span_kinds k"
                " WHERE n.id = name_id AND k.id = kind_id"
            ).fetchall()
        assert {("forward", "0"), ("backward", "0")} <= set(spans)


def test_tools_that_are_asked_for_figures_measure_in_a_dormant_process() -> None:
    code = (
        "import joulemap\n"
        "from joulemap._session import MeasuringSession\n"
        "print('ready', flush=True)\n"
        "with MeasuringSession(sim='h200', kernels=False, cpu=False, counters=False) as run:\n"
        "    assert not run.dormant\n"
        "    with run.window('w') as w:\n"
        "        pass\n"
        "print(run.report().totals.total_energy_j > 0)\n"
    )
    process = _start(code)
    out, _ = process.communicate(timeout=60)
    assert out == "True\n"


def test_session_of_another_process_does_not_wait() -> None:
    with joulemap.Session(sim="h200", kernels=False, cpu=False, counters=False) as run:
        assert not run.dormant


BUDGETED = """
import sys, threading, time
import joulemap, torch

torch.set_num_threads(1)
model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU())
run = joulemap.Session(budget=0.01)
run.start()
run.watch(model)
over = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), over.set())).start()
ready = time.monotonic() + 4
while not over.is_set():
    with run.step():
        model(torch.ones(1, 8))
        time.sleep(0.004)
    if ready and time.monotonic() > ready:
        ready = 0
        print("ready", flush=True)
run.stop()
"""


def test_each_recorder_of_a_dormant_session_begins_with_a_budget_of_its_own(tmp_path: Path) -> None:
    process = _start(BUDGETED)
    for name in ("first", "second"):
        _attach(process.pid, tmp_path / f"{name}.joulemap", seconds=2)
    process.communicate(timeout=60)
    assert process.returncode == 0
    for name in ("first", "second"):
        with sqlite3.connect(tmp_path / f"{name}.joulemap") as db:
            marks = db.execute(
                "SELECT n.text, (m.t_ns - (SELECT min(start_ns) FROM spans)) / 1e9 FROM marks m JOIN names n "
                "ON n.id = m.name_id WHERE n.text LIKE 'joulemap: %' ORDER BY m.t_ns"
            ).fetchall()
            steps, layers = (
                [
                    row[0] / 1e9
                    for row in db.execute(
                        "SELECT start_ns - (SELECT min(start_ns) FROM spans) FROM spans s "
                        "LEFT JOIN names n ON n.id = s.name_id JOIN span_kinds k ON k.id = s.kind_id "
                        f"WHERE {which} ORDER BY start_ns"
                    )
                ]
                for which in ("k.text = 'step'", "n.text = '1'")
            )
        assert [mark for mark, _ in marks][:2] == ["joulemap: traced from here", "joulemap: steps alone from here"]
        after = [step for step in steps if step >= 1]
        assert 0.9 < marks[1][1] <= after[2]  # an opening second, whatever was saved up before
        assert layers[0] < steps[20]


WITH_WORKER = """
import os, sys, threading, time
import joulemap, torch
from joulemap._tracing import tracing

torch.set_num_threads(1)
model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU())
run = joulemap.Session()
run.start()
run.watch(model)
model(torch.ones(1, 8))
child = os.fork()
if child == 0:
    before = os.getppid()
    began_ns = time.monotonic_ns()
    while tracing.on and time.monotonic_ns() - began_ns < 20 * 10**9:
        model(torch.ones(1, 8))
        time.sleep(0.002)
    print("off" if not tracing.on else "on", flush=True)
    print("ready", flush=True)
    while os.getppid() == before:
        model(torch.ones(1, 8))
        time.sleep(0.002)
    os._exit(0)
sys.stdin.read()
os._exit(0)
"""


def test_hooks_of_a_forked_worker_stand_aside_until_somebody_attaches(tmp_path: Path) -> None:
    process = _start(WITH_WORKER, "off\nready\n")
    _attach(process.pid, tmp_path / "run.joulemap", seconds=2)
    process.communicate(timeout=60)
    with sqlite3.connect(tmp_path / "run.joulemap") as db:
        calls = db.execute(
            "SELECT p.pid, count(*) FROM spans s JOIN names n ON n.id = s.name_id JOIN processes p "
            "ON p.id = s.process_id WHERE n.text = '0' GROUP BY p.pid"
        ).fetchall()
    assert len(calls) == 1
    assert calls[0][0] != process.pid
    assert calls[0][1] > 100


def test_a_process_that_refuses_later_is_told_once_and_left_alone(tmp_path: Path) -> None:
    """Its second library comes after the first, and cannot be recorded: so nothing of it is."""
    script = """
import os, select, socket, sys
def ear(writer):
    made = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    made.bind(f"\\0joulemap-dormant-{os.stat('/proc/self/ns/pid').st_ino:x}-{os.getpid()}-{writer}")
    made.listen(4)
    return made
core = ear("c")
print("ready", flush=True)
recorder, _ = core.accept()
recorder.recv(5000)
recorder.send(b"r")
sys.stdin.readline()  # the recorder has looked for the second one, and found none
inject = ear("n")
other, _ = inject.accept()
other.recv(5000)
other.send(b"fit cannot")
assert recorder.recv(5000) == b""
called, _, _ = select.select([core, inject], [], [], 2.5)
print("called again" if called else "left alone", flush=True)
sys.stdin.read()
"""
    process = _start(script)
    command = _attaching(process.pid, tmp_path / "run.joulemap", 60)
    recorder = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert recorder.stderr is not None and process.stdin is not None and process.stdout is not None
    assert f"recording {process.pid} " in recorder.stderr.readline()
    print(file=process.stdin, flush=True)
    assert process.stdout.readline() == "left alone\n"
    process.communicate(timeout=60)
    words = recorder.stderr.read()
    assert recorder.wait(timeout=60) == 0
    assert words.count(f"{process.pid} is not recorded: ") == 1
    assert "it cannot" in words


def test_a_program_that_holds_its_interpreter_can_be_recorded(tmp_path: Path) -> None:
    process = _start(
        "import ctypes, joulemap\n"
        "run = joulemap.Session()\n"
        "run.start()\n"
        "print('ready', flush=True)\n"
        "ctypes.PyDLL(None).sleep(15)\n"
    )
    time.sleep(1.5)  # by now it is told that nobody has come
    began = time.monotonic()
    words = _attach(process.pid, tmp_path / "run.joulemap")
    assert time.monotonic() - began < 10
    assert f"recording {process.pid} " in words
    assert "did not answer" not in words
    process.communicate(timeout=60)
