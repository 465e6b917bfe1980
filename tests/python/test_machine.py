"""What there is on this machine: asking for boards starts nothing, doctor tries drivers elsewhere."""

import subprocess
import sys

import pytest

# A child that was waited for has touched memory, whatever else it did.
STARTS_NOTHING = """
import resource
import joulemap
from joulemap.compat.layer_power_profiler import GPUMonitor

{what}
assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt == 0, "a process was started"
"""

LOADS_NO_DRIVER = """
loaded = open("/proc/self/maps").read()
assert "libcupti" not in loaded and "libcuda" not in loaded, "a driver was loaded"
"""

DOCTOR = """
import joulemap

findings = joulemap.doctor("h200")
by_subject = {finding.subject: finding for finding in findings}
assert by_subject["NVML"].works and "simulated" in by_subject["NVML"].detail
assert {"CUDA", "CUPTI", "injected library", "shared memory", "SQLite"} <= by_subject.keys()
assert all(finding.detail for finding in findings)
assert all(finding.works or finding.cure for finding in findings if finding.subject in ("CUDA", "CUPTI"))
"""


def run(program: str) -> None:
    """Run a program of its own: here other tests have loaded what they needed."""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


@pytest.mark.parametrize("what", ["assert joulemap.boards('h200')[0].simulated", "GPUMonitor()"])
def test_asking_for_boards_starts_no_process_and_loads_no_driver(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOULEMAP_SIM", "h200")
    run(STARTS_NOTHING.format(what=what) + LOADS_NO_DRIVER)


def test_doctor_tells_of_each_part_and_loads_no_driver_here() -> None:
    run(DOCTOR + LOADS_NO_DRIVER)
