#!/usr/bin/env python3
"""What power limit is left on a board when the program that capped it ends, fails, or is killed with -9.

    bench/cap_kill.py [--build build] [--zeus FOLDER]

Three ways, each in a program of its own on the simulated board, which somebody had set to 600 W before (its maker's
setting is 700 W, persistence mode is on, as on servers): nvidia-smi's (an NVML call before the work, one after it),
Zeus's GlobalPowerLimitOptimizer, and joulemap's lease. FOLDER has Zeus: python -m pip install --target FOLDER zeus. No
real board is ever asked. Writes bench/results/cap_kill.txt; exit code 1 if joulemap leaves anything but 600 W.
"""

from __future__ import annotations

import argparse
import ctypes
import datetime
import importlib.metadata
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOUND_W, SET_W, DEFAULT_W = 600, 300, 700
WAIT_S = 20.0
ENDINGS = ("ends", "fails", "killed -9", "killed -9, its helper too")

WORK = """
import os, sys, time
def work(ending):
    print("capped", flush=True)
    if ending.startswith("killed"):
        time.sleep(120)
    if ending == "fails":
        raise RuntimeError("in the midst")
"""

WAYS = {
    "nvidia-smi -pl": WORK
    + """
import subprocess
tool = "import pynvml, sys; pynvml.nvmlInit(); pynvml.nvmlDeviceSetPowerManagementLimit("
tool += "pynvml.nvmlDeviceGetHandleByIndex(0), 1000 * int(sys.argv[1]))"
subprocess.run([sys.executable, "-c", tool, "300"], check=True)
work(sys.argv[1])
subprocess.run([sys.executable, "-c", tool, "700"], check=True)
""",
    "Zeus": WORK
    + """
from zeus.monitor import ZeusMonitor
from zeus.optimizer.power_limit import GlobalPowerLimitOptimizer
import zeus.monitor.energy
zeus.monitor.energy.sync_execution_fn = lambda *_, **__: None  # it waits for CUDA, which is not here
monitor = ZeusMonitor(gpu_indices=[0])
optimizer = GlobalPowerLimitOptimizer(monitor, wait_steps=0, warmup_steps=1, profile_steps=1, pl_step=100)
optimizer.on_epoch_begin()
for step in range(9):
    optimizer.on_step_begin()
    time.sleep(0.3)  # longer than its energy counter needs
    optimizer.on_step_end()
work(sys.argv[1])
""",
    "joulemap": WORK
    + """
import joulemap.caps
with joulemap.caps.lease() as lease:
    lease.set(300)
    work(sys.argv[1])
""",
}


class Board:
    """The simulated board, kept open so that what is set on it stays, as with NVIDIA's persistence mode."""

    def __init__(self, library: Path) -> None:
        self._nvml = ctypes.CDLL(str(library))
        self._handle = ctypes.c_void_p()
        self._check(self._nvml.nvmlInit_v2())
        self._check(self._nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(self._handle)))

    @staticmethod
    def _check(code: int) -> None:
        if code != 0:
            sys.exit(f"cap_kill: the simulated board answers {code}")

    def set(self, watts: int) -> None:
        self._check(self._nvml.nvmlDeviceSetPersistenceMode(self._handle, 1))
        self._check(self._nvml.nvmlDeviceSetPowerManagementLimit(self._handle, 1000 * watts))

    def limit_w(self) -> int:
        milliwatts = ctypes.c_uint()
        self._check(self._nvml.nvmlDeviceGetPowerManagementLimit(self._handle, ctypes.byref(milliwatts)))
        return milliwatts.value // 1000


def helpers() -> list[int]:
    """Return the helpers that hold leases in our folder."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal():
            continue
        try:
            command = (entry / "cmdline").read_bytes().split(b"\0")
            environment = (entry / "environ").read_bytes()
        except OSError:
            continue
        ours = f"JOULEMAP_CAPS_DIR={os.environ['JOULEMAP_CAPS_DIR']}".encode() in environment.split(b"\0")
        if command[0].endswith(b"joulemap-cap") and ours:
            found.append(int(entry.name))
    return found


def settled(board: Board) -> int:
    """Return the limit once it is what was found, or after a while what it is."""
    until_s = time.monotonic() + WAIT_S
    while board.limit_w() != FOUND_W and time.monotonic() < until_s:
        time.sleep(0.02)
    return board.limit_w()


def left(board: Board, program: str, ending: str, wait: bool) -> tuple[int, int]:
    """Run a program to its end; return the limit while it was capped, and what is left."""
    board.set(FOUND_W)
    with subprocess.Popen(
        [sys.executable, "-c", program, ending], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        line = running.stdout.readline()
        if line != "capped\n":
            running.kill()
            assert running.stderr is not None
            sys.exit(f"cap_kill: the program did not come to its work: {running.stderr.read()}")
        during_w = board.limit_w() if ending.startswith("killed") else 0
        if ending.startswith("killed"):
            holders = helpers() if ending.endswith("too") else []
            for process in [*holders, running.pid]:
                os.kill(process, signal.SIGKILL)
        running.communicate()
    return during_w, settled(board) if wait else board.limit_w()


def table(board: Board, build: Path, ways: list[str]) -> tuple[list[str], bool]:
    """Return the lines of the results, and whether joulemap put back all."""
    lines = [f"{'':16} {'ends':>10} {'fails':>10} {'killed -9':>18} {'killed -9, helper too':>40}"]
    good = True
    for way in ways:
        cells = []
        for ending in ENDINGS:
            if ending.endswith("too") and way != "joulemap":
                cells.append("(it has none)")
                continue
            during_w, after_w = left(board, WAYS[way], ending, way == "joulemap" and not ending.endswith("too"))
            cell = f"{after_w} W" + (f" (was {during_w} W)" if during_w else "")
            if ending.endswith("too"):
                subprocess.run([build / "joulemap", "cap", "restore"], check=True, capture_output=True)
                restored_w = board.limit_w()
                cell = f"{after_w} W, {restored_w} W by `cap restore`"
                after_w = restored_w
            good = good and (way != "joulemap" or after_w == FOUND_W)
            cells.append(cell)
        lines.append(f"{way:16} {cells[0]:>10} {cells[1]:>10} {cells[2]:>18} {cells[3]:>40}")
    return lines, good


def version(package: str) -> str:
    """Return a package's version, or that it is not there."""
    try:
        return f"{package} {importlib.metadata.version(package)}"
    except importlib.metadata.PackageNotFoundError:
        return f"{package} not installed"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--zeus", type=Path, help="folder that Zeus was installed into")
    args = parser.parse_args()
    library = (args.build / "sim" / "libnvidia-ml.so.1").resolve()
    with tempfile.TemporaryDirectory(prefix="cap_kill-") as folder:
        os.environ.update(JOULEMAP_SIM="h200", JOULEMAP_CAPS_DIR=f"{folder}/caps", XDG_RUNTIME_DIR=folder)
        os.environ["LD_LIBRARY_PATH"] = str(library.parent)  # so that pynvml finds this board, and no other
        os.environ["JOULEMAP_NVML"] = str(library)
        if args.zeus is not None:
            os.environ["PYTHONPATH"] = str(args.zeus.resolve())
            sys.path.insert(0, str(args.zeus.resolve()))
        board = Board(library)
        ways = [way for way in WAYS if way != "Zeus" or args.zeus is not None]
        lines, good = table(board, args.build, ways)
    made = datetime.datetime.now(datetime.timezone.utc)
    joulemap = subprocess.run([args.build / "joulemap", "--version"], check=True, capture_output=True, text=True).stdout
    head = [
        f"bench/cap_kill.py: {made:%Y-%m-%d %H:%M} UTC, simulated H200; {joulemap.strip()}, {version('zeus')}, "
        f"{version('nvidia-ml-py')}",
        f"Power limit that is left: {FOUND_W} W was found, {DEFAULT_W} W is the maker's, each way set its own.",
        "",
    ]
    text = "\n".join([*head, *lines]) + "\n"
    print(text, end="")
    (ROOT / "bench" / "results" / "cap_kill.txt").write_text(text, encoding="utf-8")
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
