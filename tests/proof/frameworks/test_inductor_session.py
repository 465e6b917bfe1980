"""Reports of what Inductor compiled where little can be told, and its caches."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import joulemap
import pytest
import torch
from compiled_models import Block
from joulemap import _inductor
from torch import Tensor, nn

pytestmark = pytest.mark.usefixtures("fresh_dynamo")


def test_code_that_may_be_of_another_model_is_put_down_to_none() -> None:
    with joulemap.Session(sim="h200", cpu=False) as run:
        one, two = Block(), Block()
        run.watch(one, "one")
        run.watch(two, "two")

        @torch.compile
        def apply(model: nn.Module, x: Tensor) -> Tensor:
            return model(x)  # type: ignore[no-any-return]

        with torch.no_grad():
            for model in (one, two):
                apply(model, torch.randn(4, 8))
        report = run.report()
    assert not [row.path for row in report.rows if row.path.startswith(("one", "two"))]
    assert [note for note in report.notes if note.startswith("one and others are compiled by torch.compile")]


def one_row(run: joulemap.Session, model: nn.Module, **options: Any) -> None:
    run.watch(model)
    with torch.no_grad():
        torch.compile(model, **options)(torch.randn(4, 8))
    report = run.report()
    assert [row.path for row in report.rows if row.kind == "layer" or row.path.startswith("Block")] == ["Block"]
    assert [note for note in report.notes if note.startswith("Block is compiled by torch.compile")]


def test_code_in_cpp_is_one_row_and_the_report_says_so(session: joulemap.Session) -> None:
    one_row(session, Block(), options={"cpp_wrapper": True})


def test_an_inductor_that_is_not_as_expected_stops_nothing(
    session: joulemap.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    def of_another_time(*_: Any, **__: Any) -> str:
        raise AttributeError("origins")

    monkeypatch.setattr(_inductor, "mark_of", of_another_time)
    monkeypatch.setattr(_inductor, "_digest", of_another_time)
    with torch._inductor.config.patch(fx_graph_cache=False):
        one_row(session, Block())


CACHED = """
import json, sys
import joulemap, torch
from joulemap import _core
from torch import nn
from torch._dynamo.utils import counters

class Model(nn.Module):
    def __init__(self, first):
        super().__init__()
        self.first = first
        setattr(self, first, nn.Linear(12, 12))

    def forward(self, x):
        return getattr(self, self.first)(x)

def run(first):
    compiled = torch.compile(Model(first))
    if session:
        session.watch(compiled, first)
    with torch.no_grad():
        compiled(torch.randn(4, 12))
    hits = counters["inductor"]["fxgraph_cache_hit"] + counters["aot_autograd"]["autograd_cache_hit"]
    return bool(hits)

session = joulemap.Session(sim="h200", cpu=False).start() if sys.argv[1] == "session" else None
hit = run(sys.argv[2])
rows = [row.path for row in session.report().rows] if session else []
print(json.dumps([hit, [path for path in rows if sys.argv[2] + "." in path]]))
"""


def test_caches_of_runs_with_and_without_a_session_are_apart() -> None:
    def run(*arguments: str) -> tuple[bool, list[str]]:
        result = subprocess.run([sys.executable, "-c", CACHED, *arguments], check=True, stdout=subprocess.PIPE)
        hit, rows = json.loads(result.stdout.splitlines()[-1])
        return hit, rows

    assert run("alone", "a") == (False, [])
    assert run("session", "a") == (False, ["a.a"])  # not what a run without one has left
    assert run("session", "a") == (True, ["a.a"])
    assert run("session", "b") == (False, ["b.b"])  # the same graph, of other modules
    assert run("alone", "a") == (True, [])
