"""What Inductor compiles on the CPU: its kernels go to the modules that their code came from."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joulemap
import pytest
import torch
from compiled_models import PRODUCTS, Block, Net, assert_all_closed, graphs, is_fused, plain, products, train
from ring_reader import Span
from torch import Tensor, nn
from torch._dynamo.utils import counters
from torch.utils.checkpoint import checkpoint

Spans = Callable[..., list[Span]]

pytestmark = pytest.mark.usefixtures("fresh_dynamo")


@pytest.mark.parametrize("order", ["watch, compile", "compile, watch", "watch compiled"])
def test_eager_and_compiled_runs_have_the_same_modules(watching: joulemap.Session, spans: Spans, order: str) -> None:
    eager = Net()
    watching.watch(eager)
    train(eager)
    expected = plain(spans())
    watching.unwatch()
    seen = len(spans())

    model: Any = Net()
    if order == "watch, compile":
        watching.watch(model)
    called = torch.compile(model, fullgraph=True)
    if order != "watch, compile":
        watching.watch(called if order == "watch compiled" else model)
    train(called)
    found = spans()[seen:]
    prefix = {"Net_2": "Net"}
    compiled = {tuple(prefix.get(word, word).removeprefix("Net_2.") for word in path) for path in plain(found)}
    assert compiled <= expected
    for kind in ("forward", "backward"):
        names = {path[-2].removeprefix("Net_2.") for path in compiled if path[0] == kind}
        assert {"Net", "blocks.0", "blocks.1", *PRODUCTS} <= names
    assert_all_closed(found)


def test_a_kernel_of_several_modules_has_a_row_of_its_own_in_what_holds_them(
    watching: joulemap.Session, spans: Spans
) -> None:
    model = Net()
    watching.watch(model)
    with torch.no_grad():
        torch.compile(model)(torch.randn(4, 8))
    fused = {span.name: span for span in spans() if is_fused(span)}
    residual = fused["fused blocks/0 + blocks/1/ln"]  # the sum at the end of a block and the norm of the next one
    assert residual.path() == ["Net", "fused blocks/0 + blocks/1/ln"]
    assert residual.type == "fused(Block, LayerNorm)"


def test_watching_changes_neither_numbers_nor_the_number_of_graphs(watching: joulemap.Session, spans: Spans) -> None:
    for breaks in (False, True):
        alone = Net(breaks)
        watched = copy.deepcopy(alone)
        torch._dynamo.reset()
        counters.clear()
        expected, expected_graphs = train(torch.compile(alone)), graphs()
        torch._dynamo.reset()
        counters.clear()
        watching.watch(watched)
        assert torch.equal(train(torch.compile(watched)), expected)
        assert graphs() == expected_graphs
        for one, other in zip(alone.parameters(), watched.parameters(), strict=True):
            assert one.grad is not None
            assert other.grad is not None
            assert torch.equal(one.grad, other.grad)
        watching.unwatch()


def test_what_runs_between_graphs_keeps_its_spans(watching: joulemap.Session, spans: Spans) -> None:
    model = Net(breaks=True)
    watching.watch(model)
    train(torch.compile(model))
    assert graphs() > 1
    forward = spans("forward")
    assert products(forward) == PRODUCTS
    assert [span.name for span in forward if span.type == "Block"] == ["blocks.0", "blocks.1"]
    assert {span.path()[1] for span in forward if span.name.endswith(".fc")} == {"blocks.0", "blocks.1"}
    assert products(spans("backward"))[0] == "head"
    assert_all_closed(spans())


def test_one_code_for_many_blocks_tells_them_apart(watching: joulemap.Session, spans: Spans) -> None:
    model = Net()
    for block in model.blocks:
        block.compile()
    watching.watch(model)
    model(torch.randn(4, 8, requires_grad=True)).sum().backward()
    assert graphs() == 1
    assert products(spans("forward")) == PRODUCTS
    assert set(products(spans("backward"))) == set(PRODUCTS)
    assert_all_closed(spans())


def test_one_code_for_two_models_tells_them_apart(watching: joulemap.Session, spans: Spans) -> None:
    models = {"one": Block(), "two": Block()}
    for name, model in models.items():
        watching.watch(model, name)
    for model in models.values():
        train(torch.compile(model))
    assert graphs() == 1
    for kind in ("forward", "backward"):
        assert [span.name for span in spans(kind) if span.parent is None] == ["one", "two"]
        assert {span.name for span in spans(kind) if span.type == "Linear(8, 8)"} == {
            f"{model}.{layer}" for model in models for layer in ("fc", "out")
        }


def test_other_shapes_are_compiled_anew_with_spans(watching: joulemap.Session, spans: Spans) -> None:
    model = Block()
    watching.watch(model)
    compiled = torch.compile(model)
    for rows in (3, 5, 6):
        seen = len(spans())
        train(compiled, rows)
        assert {"fc", "out"} <= {span.name for span in spans("forward")[seen:] + spans()[seen:]}
    assert graphs() == 2  # the second one takes any


def test_shared_modules_have_the_row_of_their_first_path(watching: joulemap.Session, spans: Spans) -> None:
    class Shared(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a = nn.Linear(8, 8)
            self.b = nn.Linear(8, 8)
            self.again = self.a
            self.b.weight = self.a.weight

        def forward(self, x: Tensor) -> Tensor:
            return self.again(self.b(self.a(x)))  # type: ignore[no-any-return]

    model = Shared()
    watching.watch(model)
    with torch.no_grad():
        torch.compile(model)(torch.randn(4, 8))
    assert [span.name for span in spans()] == ["Shared", "a", "b", "a"]


def test_a_compiled_checkpoint_recomputes(watching: joulemap.Session, spans: Spans) -> None:
    class Checkpointed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.block = Block()

        def forward(self, x: Tensor) -> Tensor:
            return checkpoint(self.block, x, use_reentrant=False)  # type: ignore[no-any-return]

    model = Checkpointed()
    watching.watch(model)
    train(torch.compile(model))
    assert "block.fc" in {span.name for span in spans("recompute")}
    assert {"block.fc", "block.out"} <= {span.name for span in spans("backward")}
    assert_all_closed(spans())


def test_a_compiled_step_stays_in_the_optimizers_span(watching: joulemap.Session, spans: Spans) -> None:
    model = nn.Linear(8, 8)
    watching.watch(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    train(model)
    torch.compile(optimizer.step)()
    assert graphs() == 1
    assert [(span.name, span.children) for span in spans("optimizer")] == [("SGD", [])]
    assert_all_closed(spans("optimizer"))


def test_modules_that_a_compiled_function_calls_have_spans(watching: joulemap.Session, spans: Spans) -> None:
    one, two = Block(), Block()
    watching.watch(one, "one")
    watching.watch(two, "two")

    @torch.compile
    def loss(x: Tensor) -> Tensor:
        return two(one(x)).sum()  # type: ignore[no-any-return]

    with torch.no_grad():
        loss(torch.randn(4, 8))
    roots = [span for span in spans() if span.parent is None and not is_fused(span)]
    assert {span.name for span in roots} == {"one", "two"}
    assert {"one.fc", "one.out", "two.fc", "two.out"} <= {span.name for span in spans()}


def test_what_was_compiled_before_it_was_watched_has_spans_in_a_session(
    watching: joulemap.Session, spans: Spans
) -> None:
    model = Net()
    compiled = torch.compile(model)
    x = torch.randn(4, 8)
    with torch.no_grad():
        compiled(x)
        assert spans() == []
        watching.watch(model)
        compiled(x)
    assert graphs() == 1
    assert products(spans("forward")) == PRODUCTS


def test_a_graph_that_fails_leaves_nothing_open(watching: joulemap.Session, spans: Spans) -> None:
    class Failing(nn.Module):
        fails = False

        def forward(self, x: Tensor) -> Tensor:
            return torch.ops.joulemap_tests.may_fail(x)  # type: ignore[no-any-return]

    @torch.library.custom_op("joulemap_tests::may_fail", mutates_args=())
    def may_fail(x: Tensor) -> Tensor:
        if Failing.fails:
            raise ValueError("as it was told")
        return x.clone()

    may_fail.register_fake(torch.empty_like)
    model = nn.Sequential(nn.Linear(8, 8), Failing(), nn.Linear(8, 8))
    watching.watch(model)
    compiled = torch.compile(model)
    with torch.no_grad():
        compiled(torch.randn(4, 8))
        Failing.fails = True
        with pytest.raises(ValueError, match="as it was told") as kept:
            compiled(torch.randn(4, 8))
        assert_all_closed(spans())
        Failing.fails = False
        compiled(torch.randn(4, 8))
    assert kept.value is not None
    assert [span.name for span in spans() if span.parent is None] == ["Sequential"] * 3
    assert_all_closed(spans())


def test_a_package_of_aotinductor_is_one_row(watching: joulemap.Session, spans: Spans, tmp_path: Path) -> None:
    exported = torch.export.export(nn.Linear(8, 8), (torch.randn(4, 8),))
    path = torch._inductor.aoti_compile_and_package(exported, package_path=str(tmp_path / "linear.pt2"))
    package = torch._inductor.aoti_load_package(path)
    with torch.no_grad():
        assert package(torch.randn(4, 8)).shape == (4, 8)
    assert [(span.kind, span.name) for span in spans() if span.name.startswith("AOT")] == [
        ("forward", "AOTInductor package")
    ]
    assert_all_closed(spans())


def test_an_operation_in_compiled_code_may_call_a_watched_module(watching: joulemap.Session, spans: Spans) -> None:
    model = Net()
    inner = model.get_submodule("blocks.1.fc")

    @torch.library.custom_op("joulemap_tests::call", mutates_args=())
    def call(x: Tensor) -> Tensor:
        return inner(x).clone()  # type: ignore[no-any-return]

    call.register_fake(torch.empty_like)

    def forward(x: Tensor) -> Tensor:
        return model.head(torch.relu(torch.ops.joulemap_tests.call(model.blocks[0](x))))  # type: ignore[no-any-return]

    model.forward = forward  # type: ignore[method-assign]
    watching.watch(model)
    compiled = torch.compile(model)
    with torch.no_grad():
        for _ in range(3):
            compiled(torch.ones(4, 8))
    assert_all_closed(spans())
    heads = [span.path() for span in spans() if span.name == "head"]
    assert heads
    assert all("blocks.1.fc" not in path for path in heads)
    assert max(len(span.path()) for span in spans()) <= 4
    assert sum(span.name == "blocks.1.fc" for span in spans()) == 3
