"""A program that was started dormant, and `joulemap attach`: what is watched in it is seen from the moment on."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import joulemap
from joulemap.recording import Recording

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


def _start(code: str) -> subprocess.Popen[str]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("JOULEMAP_") or k == "JOULEMAP_CAPS_DIR"}
    process = subprocess.Popen(
        [*COMMAND, "dormant", "--", sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def _attach(pid: int, path: Path) -> str:
    done = subprocess.run(
        [*COMMAND, "attach", "--sim", "h200", "--seconds", "0.5", "--no-cpu", "-o", str(path), str(pid)],
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

worker = threading.Thread(target=serve)
worker.start()
threading.Thread(target=lambda: (sys.stdin.read(), over.set())).start()
print("ready", flush=True)
worker.join()
run.stop()
print(seen)
"""


def test_calls_are_pytorchs_own_while_nobody_is_attached(tmp_path: Path) -> None:
    process = _start(WITHOUT_STEPS)
    for name in ("first", "second"):
        _attach(process.pid, tmp_path / f"{name}.joulemap")
    out, _ = process.communicate(timeout=60)
    assert out == f"{[False, True, False, True, False]}\n"
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
        "from joulemap.session import MeasuringSession\n"
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
