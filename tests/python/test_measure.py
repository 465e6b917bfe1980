"""`joulemap.measure`, what results look like where they are shown, and what `import joulemap` takes."""

from __future__ import annotations

import re
import subprocess
import sys
import time
import warnings
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import joulemap
import joulemap.torch
import pytest
import torch
from found_program import calls, recorded
from torch import nn
from values import known

WATTS = 400.0


@pytest.fixture
def steady(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A board that draws 400 W."""
    script = tmp_path / "power.csv"
    script.write_text(f"0,36000,{WATTS},work\n")
    monkeypatch.setenv("JOULEMAP_SIM", "h200")
    monkeypatch.setenv("JOULEMAP_SIM_SCRIPT", str(script))


def check(measured: Any, least_s: float, most_s: float) -> None:
    """Hold figures of a board with known power to each other and to the truth."""
    assert least_s <= measured.seconds <= most_s
    low_j, high_j = known_pair(measured.interval)
    assert low_j <= known(measured.joules) <= high_j
    assert low_j <= WATTS * measured.seconds <= high_j
    assert known(measured.watts) == pytest.approx(known(measured.joules) / measured.seconds)


def known_pair(interval: tuple[float, float] | None) -> tuple[float, float]:
    assert interval is not None
    return interval


def test_a_block_is_measured_without_a_session(steady: None) -> None:
    before_s = time.monotonic()
    with joulemap.measure() as measured:
        time.sleep(0.3)
    assert joulemap.current_session() is None
    check(measured, 0.3, time.monotonic() - before_s)
    text = str(measured)
    assert re.fullmatch(r"1[0-9.]+ ±[0-9.]+ J in 0\.3[0-9]* s, [34][0-9]{2} W \(simulated GPU 0\)", text)
    assert repr(measured) == f"<joulemap.types.Scope window 'measure': {text.partition(',')[0]}>"


def test_measures_may_be_nested_overlap_and_be_used_again(steady: None) -> None:
    with joulemap.measure("outer") as outer:
        inner = joulemap.measure("inner").begin()
        time.sleep(0.1)
    assert joulemap.current_session() is not None  # the inner one is open
    time.sleep(0.1)
    inner.end()
    inner.end()
    assert joulemap.current_session() is None
    check(outer, 0.1, inner.seconds)
    check(inner, 0.2, 60)
    with inner:
        assert inner.seconds < 0.2
        with pytest.raises(RuntimeError, match="open already"):
            inner.begin()
    assert joulemap.current_session() is None


def test_in_a_session_it_is_a_window_of_it(steady: None) -> None:
    with joulemap.Session(cpu=False) as run:
        with joulemap.measure("forward", gpu=0) as measured:
            time.sleep(0.1)
        assert joulemap.current_session() is run
    check(measured, 0.1, 60)
    assert [(span.kind, span.name) for span in run.timeline().spans] == [("window", "forward")]
    assert measured.report("phase").rows


def test_an_exception_ends_it_and_leaves_no_session(steady: None) -> None:
    with pytest.raises(KeyError), joulemap.measure() as measured:
        raise KeyError
    assert measured.end_ns is not None
    assert joulemap.current_session() is None


def test_what_cannot_be_measured_says_so_at_once(steady: None) -> None:
    with pytest.raises(joulemap.Error, match="no GPU 3"), joulemap.measure(gpu=3):
        pytest.fail("it began")
    assert joulemap.current_session() is None
    with pytest.raises(TypeError, match="takes a name: write `with"):
        joulemap.measure(lambda: None)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="not a decorator"):
        joulemap.measure()(lambda: None)
    with pytest.raises(RuntimeError, match="has not begun"):
        print(joulemap.measure().seconds)
    assert str(joulemap.measure()) == "a window that has not begun"


def test_under_run_it_is_a_window_and_models_are_found_all_the_same(tmp_path: Path) -> None:
    program = """
import joulemap
with joulemap.measure("all of it") as m:
    import torch
    model = torch.nn.Sequential(torch.nn.Linear(8, 8))
    with torch.inference_mode():
        for _ in range(6):
            model(torch.ones(2, 8))
print(m)
"""
    report = recorded(tmp_path, program)
    assert calls(report)["0"] == 6
    assert report["kind_steps"] == 6
    assert re.fullmatch(r"[0-9.]+ ±[0-9.]+ J in .* W \(simulated GPU 0(, CPU)?\)\n", report["stdout"])


def test_a_session_says_what_it_does_not_record(steady: None) -> None:
    run = joulemap.Session(cpu=False)
    with pytest.warns(RuntimeWarning, match="a phase 'early' is not recorded: this Session has not started"):
        run.phase("early").begin().end()
    with warnings.catch_warnings(), run, run.phase("in time"):
        warnings.simplefilter("error")
    with pytest.warns(RuntimeWarning, match="a phase 'late' is not recorded: this Session has stopped"):
        run.phase("late").begin().end()


# ---- what is shown ----


class Cells(HTMLParser):
    """The cells of a table, each tag closed; neither scripts nor colours."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.cells: list[str] = []
        self._open: list[str] = []
        self.feed(page)
        assert self._open == []
        assert "color" not in page and "background" not in page and "<script" not in page

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self._open.append(tag)
        if tag in ("th", "td"):
            self.cells.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] in ("th", "td"):
            self.cells[-1] += data


def test_results_are_short_texts_and_tables_of_a_notebook(steady: None) -> None:
    name = "<b>&\"'"
    with joulemap.Session(cpu=False) as run:
        with run.step(), run.window(name) as window:
            time.sleep(0.1)
        found = joulemap.repeat(lambda: time.sleep(0.05), 3)
    report = run.report("phase")
    changed = joulemap.diff(report, report)
    shown = [report, *report.rows, report.totals, *report.groups(), found, changed, *changed.rows, window]
    shown += [*run.timeline().series, run.sampling_sensitivity(intervals_s=[0.05])]
    assert [repr(each) for each in shown if len(repr(each)) > 120 or "\n" in repr(each)] == []
    assert [each for each in (report, report.rows[0], report.totals, found, window) if " ±" not in repr(each)] == []
    assert Cells(window._repr_html_()).cells[:5] == ["", "energy", "time", "power", name]
    assert str(window).startswith(Cells(window._repr_html_()).cells[5])
    assert any(name in cell for cell in Cells(changed._repr_html_()).cells)
    assert Cells(changed._repr_html_()).cells[:6] == ["", "A", "B", "change", "verdict", "total"]
    assert "SIMULATED GPU" in changed._repr_html_()
    cells = Cells(found._repr_html_()).cells
    assert cells[0] == "median"
    assert cells[1] == f"{found.median_j:.6g} J"
    not_begun = run.window("later")
    assert Cells(not_begun._repr_html_()).cells == []


def test_a_gpu_is_waited_for_at_both_ends(steady: None, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[int] = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "synchronize", waits.append)
    with joulemap.measure():
        assert waits == [0, 1]
        nn.Linear(2, 2)(torch.ones(1, 2))
    assert waits == [0, 1, 0, 1]


def test_the_import_takes_only_what_a_session_needs() -> None:
    code = "import sys, joulemap; joulemap.Session; joulemap.measure; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    # Each of these takes milliseconds to import, and Row, Totals and Quality as long to make.
    slow = {"torch", "numpy", "pandas", "inspect", "dataclasses", "tempfile", "asyncio", "joulemap._row_types"}
    assert set(done.stdout.split()) & slow == set()
    assert set(joulemap.__all__) <= set(dir(joulemap))
