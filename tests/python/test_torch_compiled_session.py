"""Reports of compiled models where little can be told, caches, and what a session leaves behind."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import time
import weakref
from typing import Any

import joulemap
import pytest
import torch
from compiled_models import Block
from joulemap import _compiled, _core, _inductor
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


class OnlyHere(nn.Module):
    """Its part is named as no other test's."""

    def __init__(self) -> None:
        super().__init__()
        self.only_here = nn.Linear(8, 8)

    def forward(self, x: Tensor) -> Tensor:
        return self.only_here(x)  # type: ignore[no-any-return]


def compiled_in_a_session() -> OnlyHere:
    model = OnlyHere()
    with joulemap.Session(sim="h200", cpu=False) as run, torch.no_grad():
        run.watch(model)
        torch.compile(model)(torch.randn(4, 8))
    return model


def test_the_id_of_a_compiled_module_that_has_ended_is_that_of_none() -> None:
    model = compiled_in_a_session()
    number, ended = id(model.only_here), weakref.ref(model.only_here)
    assert _inductor.was_compiled(number)
    (name,) = _inductor._names[number]
    assert _inductor.id_of(name) == number
    del model
    torch._dynamo.reset()
    gc.collect()
    assert ended() is None
    assert not _inductor.was_compiled(number)
    assert _inductor.id_of(name) is None
    following = compiled_in_a_session()
    assert _inductor.id_of(name) == id(following.only_here)


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


def test_a_layer_that_only_backward_tells_of_stands_in_its_model(session: joulemap.Session) -> None:
    def span(kind: str, name: str) -> int:
        return _core.span_begin(_core.SPAN_KINDS[kind], _core.intern(name), _core.intern("Class"))

    for kind, inner in (("forward", "fused wte + ln"), ("backward", "ln")):
        spans = [span(kind, "GPT"), span(kind, inner)]
        time.sleep(0.05)
        while spans:
            _core.span_end(spans.pop())
    rows = {row.path: row.depth for row in session.report().rows}
    assert (rows["GPT"], rows["fused wte + ln"], rows["ln"]) == (0, 1, 1)


# ---- without a session ----


def patched() -> list[Any]:
    from torch._functorch._aot_autograd import autograd_cache
    from torch._inductor import codecache, scheduler
    from torch._inductor.codegen import cpp

    return [
        scheduler.Scheduler.enter_context,
        cpp.CppScheduling.flush,
        codecache.compiled_fx_graph_hash,
        autograd_cache.autograd_cache_key,
        *sys.meta_path,
    ]


def test_a_session_leaves_inductor_as_it_was() -> None:
    before = patched()
    model = Block()
    compiled = torch.compile(model)
    x = torch.randn(4, 8)
    with joulemap.Session(sim="h200", cpu=False) as run:
        assert patched()[:4] != before[:4]
        run.watch(model)
        with torch.no_grad():
            expected = compiled(x)
    assert patched() == before
    assert _compiled.enter() is str  # marks that stay in the code are this, and do nothing
    with torch.no_grad():
        assert torch.equal(compiled(x), expected)


def test_marked_code_needs_no_joulemap() -> None:
    code = "\n".join([_inductor._HEADER, _inductor._ENTER, "_joulemap('[]')", "print(_joulemap)"])
    result = subprocess.run([sys.executable, "-S", "-E", "-c", code], check=True, capture_output=True, text=True)
    assert result.stdout == "<class 'str'>\n"


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
