"""Reports of compiled models where little can be told, caches, and what a session leaves behind."""

from __future__ import annotations

import gc
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


@pytest.mark.usefixtures("inductor")
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
