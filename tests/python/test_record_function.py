"""Blocks that a program names with record_function, as spans, on real PyTorch on the CPU."""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Callable
from typing import Any

import joulemap
import pytest
import torch
from ring_reader import Span, read_spans
from torch import Tensor, nn
from torch.autograd.profiler import record_function
from torch.utils.data import DataLoader, TensorDataset

Spans = Callable[..., list[Span]]
OWN = (record_function.__enter__, record_function.__exit__, vars(torch.autograd).get("_engine_run_backward"))


def current() -> tuple[Any, ...]:
    return (record_function.__enter__, record_function.__exit__, vars(torch.autograd).get("_engine_run_backward"))


# These three come before the session of all others.


def test_without_a_session_record_function_is_pytorchs_own() -> None:
    assert current() == OWN
    with joulemap.Session(sim="h200", cpu=False):
        assert current()[:2] != OWN[:2]
        block = record_function("open at the end").__enter__()
    assert current() == OWN
    block.__exit__(None, None, None)


def test_what_somebody_put_around_record_function_asks_pytorch_alone_afterwards() -> None:
    with joulemap.Session(sim="h200", cpu=False):
        ours = record_function.__enter__
        record_function.__enter__ = lambda self: ours(self)  # type: ignore[method-assign,no-untyped-call]
    try:
        with joulemap.Session(sim="h200", cpu=False) as run:
            with record_function("once"):
                pass
            assert [span.name for span in read_spans(run.environment()["JOULEMAP_RUN"])] == ["once"]
    finally:
        record_function.__enter__ = OWN[0]  # type: ignore[method-assign]
    assert current() == OWN


def test_pytorch_imported_in_a_session_is_followed_from_the_next_scope_on(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as before:
        before.delitem(sys.modules, "torch")
        run = joulemap.Session(sim="h200", cpu=False).start()
    try:
        assert current() == OWN
        with run.phase("train"):
            assert record_function.__enter__ is not OWN[0]
    finally:
        run.stop()
    assert current() == OWN


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.second = nn.Linear(4, 2)

    def forward(self, x: Tensor) -> Tensor:
        with torch.profiler.record_function("both"):
            x = self.first(x)
            with record_function("tail"):
                out: Tensor = self.second(x)
        return out


def paths(found: list[Span]) -> list[str]:
    return ["/".join(span.path()) for span in found]


def test_blocks_and_layers_lie_inside_each_other(watching: joulemap.Session, spans: Spans) -> None:
    net = Net()
    watching.watch(net)
    with watching.step(), record_function("training"):
        net(torch.ones(3, 4))
    assert paths(spans("forward", "nvtx")) == [
        "step/training",
        "step/training/Net",
        "step/training/Net/both",
        "step/training/Net/both/first",
        "step/training/Net/both/tail",
        "step/training/Net/both/tail/second",
    ]
    assert all(span.end_ns is not None for span in spans())


def test_without_a_watched_model_blocks_are_spans_too(watching: joulemap.Session, spans: Spans) -> None:
    with record_function("alone"):
        torch.ones(2)
    assert paths(spans("nvtx")) == ["alone"]


def test_each_call_of_a_decorated_function_is_a_span(watching: joulemap.Session, spans: Spans) -> None:
    @record_function("down")
    def down(n: int) -> int:
        return 0 if n == 0 else down(n - 1)

    down(2)
    down(0)
    assert paths(spans("nvtx")) == ["down", "down/down", "down/down/down", "down"]
    assert all(span.end_ns is not None for span in spans())


def test_a_block_that_fails_ends_its_span(watching: joulemap.Session, spans: Spans) -> None:
    for error in (ValueError, KeyboardInterrupt):
        with pytest.raises(error), record_function("fails"), record_function("inner"):
            raise error
    with record_function("after"):
        pass
    assert paths(spans("nvtx")) == ["fails", "fails/inner", "fails", "fails/inner", "after"]
    assert all(span.end_ns is not None for span in spans())


def test_each_thread_has_blocks_of_its_own(watching: joulemap.Session, spans: Spans) -> None:
    both = threading.Barrier(2)
    shared = record_function("shared")  # a decorator's one block serves all threads

    @shared
    def work() -> None:
        both.wait()
        with record_function("inner"):
            both.wait()

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = spans("nvtx")
    assert sorted(paths(found)) == ["shared", "shared", "shared/inner", "shared/inner"]
    assert len({span.tid for span in found}) == 2
    for span in found:
        assert span.parent is None or span.parent.ended_ns >= span.ended_ns


def test_blocks_that_take_turns_end_their_own_spans(watching: joulemap.Session, spans: Spans) -> None:
    first, second = record_function("first"), record_function("second")
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    with record_function("inner"):
        second.__exit__(None, None, None)
    ends = {span.name: span.ended_ns for span in spans("nvtx")}
    assert ends["first"] < ends["second"] < ends["inner"]


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, x: Tensor) -> Tensor:
        return 2 * x

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> Any:
        with record_function("own backward"):
            return 2 * gradients[0]


class Scale(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        scaled: Tensor = Scaled.apply(x)  # type: ignore[no-untyped-call]
        return scaled


def test_a_block_of_a_backward_function_lies_in_its_layer(watching: joulemap.Session, spans: Spans) -> None:
    net = nn.Sequential(nn.Linear(4, 4), Scale())
    watching.watch(net, "net")
    loss = net(torch.ones(2, 4)).sum()
    with record_function("backward"):
        loss.backward()
    assert paths(spans("backward", "nvtx")) == [
        "backward",
        "backward/net",
        "backward/net/net.1",
        "backward/net/net.1/own backward",
        "backward/net/net.0",
    ]


@pytest.fixture
def engine_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let autograd run its nodes on another thread, as it does those of a GPU."""
    ours = vars(torch.autograd)["_engine_run_backward"]
    inner = ours.__wrapped__

    def elsewhere(*args: Any, **kwargs: Any) -> Any:
        results: list[Any] = []
        thread = threading.Thread(target=lambda: results.append(inner(*args, **kwargs)))
        thread.start()
        thread.join()
        return results[0]

    cells = [cell for cell in ours.__closure__ or () if cell.cell_contents is inner]
    monkeypatch.setattr(cells[0], "cell_contents", elsewhere)


@pytest.mark.skipif(OWN[2] is None, reason="this PyTorch calls its engine in another way")
def test_a_block_around_backward_reaches_the_threads_of_autograd(
    watching: joulemap.Session, spans: Spans, engine_elsewhere: None
) -> None:
    weight = torch.ones(4, requires_grad=True)
    with record_function("outer"), record_function("backward"):
        Scaled.apply(weight).sum().backward()  # type: ignore[no-untyped-call]
        torch.autograd.grad(Scaled.apply(weight).sum(), weight)  # type: ignore[no-untyped-call]
    (weight * 1).sum().backward()
    here = threading.get_native_id()
    assert paths([span for span in spans("nvtx") if span.tid == here]) == ["outer", "outer/backward"]
    there = [span for span in spans("carried", "nvtx") if span.tid != here]
    assert paths(there) == 2 * ["outer", "outer/backward", "outer/backward/own backward"]
    assert [span.kind for span in there] == 2 * ["carried", "carried", "nvtx"]
    assert all(span.end_ns is not None for span in there)


@pytest.mark.skipif(OWN[2] is None, reason="this PyTorch calls its engine in another way")
def test_a_block_is_one_call_on_however_many_threads(watching: joulemap.Session, engine_elsewhere: None) -> None:
    weight = torch.ones(4, requires_grad=True)
    with watching.window("some time") as window:
        for _ in range(3):
            loss = Scaled.apply(weight).sum()  # type: ignore[no-untyped-call]
            with record_function("backward"):
                loss.backward()
    layers = {row.path: row for row in window.report("layer")}
    assert (layers["backward"].kind, layers["backward"].calls) == ("nvtx", 3)
    assert layers["backward/own backward"].calls == 3
    types = {row.path: row for row in window.report("type")}
    assert (types["backward"].kind, types["backward"].calls) == ("nvtx", 3)
    kinds = [row.kind for row in window.report("span") if row.name == "backward"]
    assert kinds == 3 * ["nvtx", "carried"]


@pytest.mark.skipif(OWN[2] is None, reason="this PyTorch calls its engine in another way")
def test_layers_on_the_threads_of_autograd_lie_inside_the_block(
    watching: joulemap.Session, spans: Spans, engine_elsewhere: None
) -> None:
    net = nn.Linear(4, 4)
    watching.watch(net, "net")
    out = net(torch.ones(2, 4))
    with record_function("backward"):
        out.sum().backward()
    with record_function("backward"):
        net(torch.ones(2, 4)).backward(torch.ones(2, 4))  # begins in the layer
    here = threading.get_native_id()
    assert paths([span for span in spans("backward", "carried") if span.tid != here]) == [
        "backward",
        "backward/net",
        "net",
    ]


def test_what_pytorch_names_itself_is_no_block_of_the_program(watching: joulemap.Session, spans: Spans) -> None:
    net = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    watching.watch(net)
    for (x,) in DataLoader(TensorDataset(torch.ones(4, 4)), batch_size=2):
        optimizer.zero_grad()
        with record_function("forward"):
            loss = net(x).sum()
        loss.backward()
        optimizer.step()
    assert [span.name for span in spans("nvtx")] == ["forward", "forward"]
    assert [span.name for span in spans("optimizer")] == ["SGD", "SGD"]
    assert len(spans("data")) == 3


def test_pytorchs_own_profiler_sees_the_blocks_as_before(watching: joulemap.Session, spans: Spans) -> None:
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        with record_function("seen twice"):
            torch.ones(2) + 1
        profile.step()
    assert [event.count for event in profile.key_averages() if event.key == "seen twice"] == [1]
    assert [span.name for span in spans("nvtx")] == ["seen twice"]


def named(x: Tensor) -> Tensor:
    with record_function("inside"):
        return x * 2


def test_torch_compile_takes_a_function_with_a_block_whole(watching: joulemap.Session, spans: Spans) -> None:
    torch._dynamo.reset()
    compiled = torch.compile(named, backend="eager", fullgraph=True)
    with record_function("around"):
        assert compiled(torch.ones(2)).tolist() == [2, 2]
    assert [span.name for span in spans("nvtx")] == ["around"]  # and none of the compiler's own


def test_torch_compile_breaks_its_graphs_where_it_did(watching: joulemap.Session) -> None:
    def train(x: Tensor) -> Tensor:
        with record_function("inside"):
            loss = (x * x).sum()
            loss.backward()
        return loss

    torch._dynamo.reset()
    counters = torch._dynamo.utils.counters
    counters.clear()
    with record_function("around"):
        torch.compile(train, backend="eager")(torch.ones(2, requires_grad=True))
    assert [reason.splitlines()[0] for reason in counters["graph_break"]] == ["Unsupported Tensor.backward() call"]


def test_a_backward_pass_that_is_compiled_stays_whole(watching: joulemap.Session, spans: Spans) -> None:
    autograd: Any = importlib.import_module("torch._dynamo.compiled_autograd")
    if not hasattr(autograd, "_enable"):
        pytest.skip("this PyTorch compiles no backward pass so")
    x = torch.ones(2, requires_grad=True)
    with autograd._enable(lambda graph: torch.compile(graph, backend="eager", fullgraph=True)):
        loss = (x * x).sum()
        with record_function("backward"):
            loss.backward()
    assert x.grad is not None and x.grad.tolist() == [2, 2]
    assert [span.name for span in spans("nvtx")] == ["backward"]


def test_torchscript_compiles_a_function_with_a_block(watching: joulemap.Session, spans: Spans) -> None:
    def scripted(x: Tensor) -> Tensor:
        with torch.autograd.profiler.record_function("inside"):
            return x * 2

    compiled = torch.jit.script(scripted)
    assert compiled(torch.ones(2)).tolist() == [2, 2]


def test_blocks_are_in_reports(watching: joulemap.Session) -> None:
    with watching.window("some time") as window, record_function("block"):
        for _ in range(2):
            with record_function("part"):
                torch.ones(2)
    rows = {row.path: row for row in window.report("layer")}
    assert rows["block"].kind == rows["block/part"].kind == "nvtx"
    assert rows["block/part"].calls == 2
