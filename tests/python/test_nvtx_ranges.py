"""NVTX ranges of a process that records itself: NVIDIA's own Python package, whose NVTX looks for a library once."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import joulemap
import nvtx
import pytest

VARIABLE = "NVTX_INJECTION64_PATH"


def ranges(run: joulemap.Session) -> list[tuple[str, str | None]]:
    spans = run.timeline().spans
    return [
        (span.name, None if span.parent is None else spans[span.parent].name) for span in spans if span.kind == "nvtx"
    ]


def record(**arguments: object) -> joulemap.Session:
    return joulemap.Session(sim="h200", cpu=False, **arguments)  # type: ignore[arg-type]


def test_ranges_of_a_session_are_its_spans_and_no_others() -> None:
    with record() as run:
        with run.phase("train"), nvtx.annotate("outer"), nvtx.annotate("inner", domain="of a library"):
            pass
        nvtx.mark("here")
        started = nvtx.start_range("anywhere")
        thread = threading.Thread(target=lambda: nvtx.end_range(started))
        thread.start()
        thread.join()
    with nvtx.annotate("between sessions"):
        pass
    with record(kernels=False) as second, nvtx.annotate("of the second"):
        pass
    assert ranges(run) == [("outer", "train"), ("of a library:inner", "outer"), ("anywhere", None)]
    assert [mark.name for mark in run.timeline().marks] == ["here"]
    assert all(span.ended for span in run.timeline().spans)
    assert ranges(second) == [("of the second", None)]


def test_category_and_payload_of_a_range_are_its_type_and_number() -> None:
    with record() as run:
        for payload in (3, -2.5, None):
            with nvtx.annotate("solve", domain="lib", category="dense", payload=payload):
                pass
    told = [(span.name, span.type, span.payload) for span in run.timeline().spans]
    assert told == [("lib:solve", "lib:dense", 3), ("lib:solve", "lib:dense", -2.5), ("lib:solve", "lib:dense", None)]


def test_ranges_follow_the_schedule_of_a_session() -> None:
    with record(schedule=joulemap.schedule(wait=1, warmup=1, active=1, repeat=1)) as run:
        for name in ("waits", "warm", "is traced", "is over"):
            with nvtx.annotate(name):
                pass
            run.step()
    assert [name for name, _ in ranges(run)] == ["warm", "is traced"]


def test_the_variable_is_there_as_long_as_a_session_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    with record():
        assert os.environ[VARIABLE].endswith("/libjoulemap_inject.so")
    assert VARIABLE not in os.environ
    monkeypatch.setenv(VARIABLE, "/of/another/tool.so")
    with record():
        assert os.environ[VARIABLE] == "/of/another/tool.so"
    assert os.environ[VARIABLE] == "/of/another/tool.so"


def test_under_a_recorder_a_range_is_one_span(tmp_path: Path) -> None:
    file = tmp_path / "run.joulemap"
    program = """
import joulemap, nvtx
with joulemap.Session() as run:
    with nvtx.annotate("once"):
        pass
"""
    command = [sys.executable, "-m", "joulemap", "record", "-o", str(file), "--", sys.executable, "-c", program]
    subprocess.run(command, check=True, env={**os.environ, "JOULEMAP_SIM": "h200"}, capture_output=True)
    with joulemap.Recording(file) as recording:
        assert [span.name for span in recording.timeline().spans if span.kind == "nvtx"] == ["once"]
