"""What there is on this machine: asking for boards starts nothing, doctor tries drivers elsewhere."""

import subprocess
import sys
from pathlib import Path

import joulemap
import pytest

# A child that was waited for has touched memory, whatever else it did.
WITHOUT_A_CHILD = """
import resource
import joulemap
from joulemap.compat.layer_power_profiler import GPUMonitor

{what}
assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt == 0, "a process was started"
loaded = open("/proc/self/maps").read()
assert "libcupti" not in loaded and "libcuda" not in loaded, "a driver was loaded"
"""


@pytest.mark.parametrize("what", ["assert joulemap.boards('h200')[0].simulated", "GPUMonitor()"])
def test_asking_for_boards_starts_no_process_and_loads_no_driver(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOULEMAP_SIM", "h200")
    subprocess.run([sys.executable, "-c", WITHOUT_A_CHILD.format(what=what)], check=True, timeout=60)


def test_doctor_tells_of_each_part_and_leaves_this_process_alone() -> None:
    findings = joulemap.doctor("h200")
    by_subject = {finding.subject: finding for finding in findings}
    assert by_subject["NVML"].works and "simulated" in by_subject["NVML"].detail
    assert {"CUDA", "CUPTI", "shared memory", "SQLite"} <= by_subject.keys()
    assert all(finding.detail for finding in findings)
    assert all(finding.works or finding.cure for finding in findings if finding.subject in ("CUDA", "CUPTI"))
    assert "libcupti" not in Path("/proc/self/maps").read_text()
