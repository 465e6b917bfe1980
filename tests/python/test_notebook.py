"""`%load_ext joulemap`: lines and cells of a notebook, in IPython itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import joulemap
import pytest
from joulemap import _notebook

pytest.importorskip("IPython", reason="IPython is not installed")

LINE = r"-?[0-9.]+ ±[0-9.]+ [mk]?J in [0-9.]+ m?s, -?[0-9.]+ W \(simulated GPU 0(, CPU)?\)"
MODEL = """
import torch
model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU())
x = torch.ones(2, 8)
"""
CALLS = """%%joulemap {name}
with torch.inference_mode():
    for _ in range(20):
        y = model(x)
tuple(y.shape)
"""


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    from IPython.core.interactiveshell import InteractiveShell

    monkeypatch.setenv("JOULEMAP_SIM", "h200")
    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "joulemap")
    yield shell
    InteractiveShell.clear_instance()


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What cells have displayed."""
    found: list[Any] = []
    monkeypatch.setattr("IPython.display.display", found.append)
    return found


def test_a_cell_has_its_layers_and_steps(shown: list[Any], shell: Any) -> None:
    assert shell.run_cell(MODEL).success
    done = shell.run_cell(CALLS.format(name="kept"))
    assert done.result == (2, 8)
    assert joulemap.current_session() is None
    (summary,) = shown
    first, _, table = repr(summary).partition("\n")
    assert re.fullmatch(LINE, first)
    assert "Sequential" in table
    assert "a forward pass" in table
    assert "<table>" in summary._repr_html_()
    kept = shell.user_ns["kept"]
    assert str(kept) == first
    rows = {row.path: row for row in kept.report()}
    assert (rows["Sequential"].calls, rows["0"].calls) == (20, 20)
    assert kept.report().totals.kind_steps == 20
    # A second cell watches the same model anew.
    assert shell.run_cell(CALLS.format(name="again")).success
    assert {row.path: row.calls for row in shell.user_ns["again"].report()}["0"] == 20


def test_a_line_is_measured_and_keeps_its_value(shown: list[Any], shell: Any) -> None:
    assert shell.run_cell("%joulemap 2 + 3").result == 5
    assert re.fullmatch(LINE, repr(shown[0]))
    assert "<table>" not in shown[0]._repr_html_()


def test_in_a_session_a_cell_is_a_window(shown: list[Any], shell: Any) -> None:
    with joulemap.Session(cpu=False) as run:
        assert shell.run_cell("%%joulemap first\npass").success
        assert joulemap.current_session() is run
    assert [(span.kind, span.name) for span in run.timeline().spans] == [("window", "first")]


def test_a_session_of_the_cell_takes_over(shown: list[Any], shell: Any) -> None:
    cell = "%%joulemap\nimport joulemap\nwith joulemap.Session(cpu=False) as run, run.phase('mine'):\n    pass"
    assert shell.run_cell(cell).success
    assert [span.name for span in shell.user_ns["run"].timeline().spans] == ["mine"]
    assert len(shown) == 1


@pytest.mark.parametrize(
    ("cell", "error", "figures"),
    [
        ("%%joulemap\nbefore = 1\n1 / 0", ZeroDivisionError, 1),
        ("%%joulemap\nx ===", SyntaxError, 0),
        ("%%joulemap a b\npass", None, 0),
        ("%joulemap", None, 0),
    ],
)
def test_what_fails_fails_as_ever(
    cell: str, error: type[Exception] | None, figures: int, shown: list[Any], shell: Any
) -> None:
    from IPython.core.error import UsageError

    done = shell.run_cell(cell)
    assert isinstance(done.error_in_exec, error or UsageError)
    assert len(shown) == figures
    assert joulemap.current_session() is None


def test_a_summary_is_escaped(shown: list[Any], shell: Any) -> None:
    with joulemap.measure("<i>") as measured:
        pass
    assert "<i>" not in _notebook._Summary(measured)._repr_html_()
