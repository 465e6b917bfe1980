"""Readings, spans and marks, as they were recorded."""

from __future__ import annotations

import subprocess
import time
from itertools import pairwise
from pathlib import Path

import joulemap
import pytest
from joulemap._cli import native_folder


@pytest.fixture(scope="module")
def timeline(tmp_path_factory: pytest.TempPathFactory) -> joulemap.types.Timeline:
    """Record phases, steps, marks, and an open window."""
    path = tmp_path_factory.mktemp("timeline") / "run.joulemap"
    with joulemap.Session(path, sim="h200", cpu=False) as run:
        with run.phase("train"):
            for _ in range(3):
                with run.step(samples=8, tokens=64):
                    time.sleep(0.05)
            run.mark("saved", epoch=3, loss=0.5)
        run.mark("bare")
        run.window("never ends").begin()
        time.sleep(0.3)
    with joulemap.Recording(path) as recording:
        return recording.timeline()


def test_readings_have_the_stamps_of_their_sensor(timeline: joulemap.types.Timeline) -> None:
    power = timeline.readings()
    assert (power.name, power.unit, power.gpu, power.backend) == ("power_ring", "W", 0, "nvml")
    assert len(power.t_ns) == len(power.values) == len(power) > 15
    assert all(before <= after for before, after in pairwise(power.t_ns))
    near_ns = 1_000_000_000  # the sampler reads a little before the start and after the end
    assert all(timeline.start_ns - near_ns < t_ns < timeline.end_ns + near_ns for t_ns, _ in power)
    assert all(10 < watts < 800 for watts in power.values)
    assert {"W", "J", "%", "C", "MHz"} <= {series.unit for series in timeline.series}


def test_spans_lie_in_those_around_them(timeline: joulemap.types.Timeline) -> None:
    phase, *steps = (span for span in timeline.spans if span.kind in ("phase", "step"))
    assert (phase.name, phase.parent, phase.ended) == ("train", None, True)
    assert [(step.samples, step.tokens) for step in steps] == [(8, 64)] * 3
    for step in steps:
        assert step.parent is not None
        assert timeline.spans[step.parent] == phase
        assert phase.start_ns <= step.start_ns < step.end_ns <= phase.end_ns
        assert 0.05 <= step.duration_s == pytest.approx(1e-9 * (step.end_ns - step.start_ns))
        assert step.process_id == phase.process_id > 0
        assert step.rank is None
    window = timeline.spans[-1]
    assert (window.kind, window.name, window.ended) == ("window", "never ends", False)
    assert window.start_ns <= window.end_ns <= timeline.end_ns


def test_marks_have_what_was_told(timeline: joulemap.types.Timeline) -> None:
    assert [(mark.name, mark.meta) for mark in timeline.marks] == [("saved", {"epoch": 3, "loss": 0.5}), ("bare", {})]
    unix_s = timeline.unix_s(timeline.marks[0].t_ns)
    assert unix_s is not None
    assert 0 < time.time() - unix_s < 600


def test_what_a_gpu_does_not_tell_is_named(timeline: joulemap.types.Timeline) -> None:
    with pytest.raises(LookupError, match="GPU 3 has no sensor of 'power'; there are: GPU 0: clock"):
        timeline.readings(gpu=3)
    with pytest.raises(LookupError, match="GPU 0 has no sensor of 'heat'"):
        timeline.readings("heat")
    assert "3 spans" not in repr(timeline)
    assert repr(timeline).endswith("5 spans, 2 marks>")


def test_a_run_that_goes_on_tells_what_was_so_far(session: joulemap.Session) -> None:
    with session.phase("first"):
        time.sleep(0.1)
    assert [span.name for span in session.timeline().spans] == ["first"]
    with session.phase("second"):
        pass
    assert [span.name for span in session.timeline().spans] == ["first", "second"]


def test_an_import_has_no_time_of_day_and_says_what_it_lacks(tmp_path: Path) -> None:
    readings = tmp_path / "readings.csv"
    readings.write_text("sensor,t_s,value\n" + "".join(f"power_ring,{0.02 * i},{100 + i}\n" for i in range(50)))
    target = tmp_path / "imported.joulemap"
    command = [str(native_folder() / "joulemap"), "import", "--board", "h200", "--readings", str(readings)]
    subprocess.run([*command, "-o", str(target)], check=True, capture_output=True)
    imported = joulemap.Recording(target).timeline()
    assert imported.unix_s(imported.start_ns) is None
    assert list(imported.readings().values) == [100 + i for i in range(50)]
    assert list(imported.readings().t_ns)[:3] == [0, 20_000_000, 40_000_000]
    with pytest.raises(LookupError):
        imported.readings("gpu_utilisation")
