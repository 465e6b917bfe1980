"""A power cap that a killed program left behind is put back when a Session starts, which says so."""

import json
import os
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import joulemap
import pytest
from joulemap import caps

HOLDER = """
import time
import joulemap.caps

lease = joulemap.caps.lease()
lease.set(300)
print("set", flush=True)
time.sleep(600)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Two GPUs in a folder of the test's own; the second one's lease keeps them open, as a driver is kept open."""
    monkeypatch.setenv("JOULEMAP_SIM", "h200,h200")
    monkeypatch.setenv("JOULEMAP_CAPS_DIR", str(tmp_path / "caps"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with caps.lease(gpu=1):
        yield tmp_path / "caps"


def is_dead(process_id: int) -> bool:
    try:
        return Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def lose_a_lease(folder: Path) -> None:
    """Kill a program, its helper and the helper's guard at once."""
    with subprocess.Popen([sys.executable, "-c", HOLDER], stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "set\n"
        states = [json.loads(path.read_text()) for path in folder.glob("*.json")]
        (helper,) = [state["helper_pid"] for state in states if state["cap_w"] == 300]
        guard = int(Path(f"/proc/{helper}/task/{helper}/children").read_text())
        os.kill(helper, signal.SIGSTOP)  # else it would take another guard
        for process_id in (guard, helper, program.pid):
            os.kill(process_id, signal.SIGKILL)
    while not (is_dead(helper) and is_dead(guard)):
        time.sleep(0.01)


def test_a_session_puts_back_what_a_killed_program_left_behind_and_says_so(folder: Path) -> None:
    lose_a_lease(folder)
    assert caps.show()[0].cap_w == 300
    with (
        pytest.warns(RuntimeWarning, match=r"put GPU 0 back to 700 W: .* \(pid \d+\) was killed"),
        joulemap.Session(cpu=False),
    ):
        assert caps.show()[0].lease is None
    assert caps.show()[0].cap_w == 700
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with joulemap.Session(cpu=False):
            pass  # nothing is to be said any more


def test_what_cannot_be_put_back_is_a_warning_and_no_end_of_the_program(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lose_a_lease(folder)
    with monkeypatch.context() as only_here:
        only_here.setenv("JOULEMAP_SIM_FAULTS", "nvmlDeviceSetPowerManagementLimit=NO_PERMISSION")
        with pytest.warns(RuntimeWarning, match="GPU 0 is still to be put back to 700 W"), joulemap.Session(cpu=False):
            pass
    (restored,) = caps.restore()
    assert (restored.index, restored.fault, restored.lease.found_w) == (0, "", 700)
    with monkeypatch.context() as only_here:
        only_here.setenv("JOULEMAP_CAPS_DIR", "no/absolute/path")
        with pytest.warns(RuntimeWarning, match="JOULEMAP_CAPS_DIR"), joulemap.Session(cpu=False):
            pass
