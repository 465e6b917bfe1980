"""Which module each interval of forward and backward is put down to, on real PyTorch on the CPU."""

from __future__ import annotations

import contextlib
import copy
import gc
import io
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joulemap
import pytest
import torch
from joulemap import _core, _module_calls
from joulemap._describe import describe
from joulemap._layer import layers
from joulemap._module_calls import call_tracing
from joulemap._tracing import tracing
from ring_reader import Span
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

Spans = Callable[..., list[Span]]


@pytest.fixture(autouse=True, params=["in place of __call__", "hooks"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of the two ways by which calls are heard of, whatever earlier tests have compiled."""
    monkeypatch.setattr(_module_calls, "may_have_compiled", lambda: False)
    monkeypatch.setattr(call_tracing, "compiled", False)
    monkeypatch.setattr(call_tracing, "requested", request.param == "hooks")


class Attention(nn.Module):
    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.qkv(x).split(x.shape[-1], dim=-1)
        mixed: Tensor = torch.softmax(q @ k.transpose(-1, -2), -1) @ v
        out: Tensor = self.proj(mixed)
        return out


class Block(nn.Module):
    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.ln = nn.LayerNorm(width)
        self.attn = Attention(width)
        self.mlp = nn.Sequential(nn.Linear(width, 32), nn.ReLU(inplace=True), nn.Linear(32, width))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attn(self.ln(x))
        return x + self.mlp(x)  # type: ignore[no-any-return]


class Net(nn.Module):
    def __init__(self, checkpointed: bool | None = None) -> None:
        super().__init__()
        self.embed = nn.Linear(8, 16)
        self.blocks = nn.ModuleList([Block(), Block()])
        self.head = nn.Linear(16, 4)
        self.checkpointed = checkpointed

    def forward(self, x: Tensor) -> Tensor:
        x = self.embed(x)
        for block in self.blocks:
            x = block(x) if self.checkpointed is None else checkpoint(block, x, use_reentrant=self.checkpointed)
        return self.head(x)  # type: ignore[no-any-return]


NET_CALLS = 3 + 2 * 9  # Net, embed, head, and nine modules a block


def names(spans: list[Span]) -> list[str]:
    return [span.name for span in spans]


def tree(span: Span) -> dict[str, Any]:
    return {child.name: tree(child) for child in span.children}


BLOCK_TREE: dict[str, Any] = {
    "ln": {},
    "attn": {"attn.qkv": {}, "attn.proj": {}},
    "mlp": {"mlp.0": {}, "mlp.1": {}, "mlp.2": {}},
}


def block_tree(prefix: str) -> dict[str, Any]:
    def rename(part: dict[str, Any]) -> dict[str, Any]:
        return {f"{prefix}.{name}": rename(inner) for name, inner in part.items()}

    return rename(BLOCK_TREE)


def assert_all_closed(spans: list[Span]) -> None:
    assert spans
    assert [span.name for span in spans if span.end_ns is None] == []


# ---- forward ----


def test_forward_spans_are_the_module_tree(watching: joulemap.Session, spans: Spans) -> None:
    model = Net()
    watching.watch(model)
    model(torch.randn(2, 5, 8))
    (root,) = [span for span in spans("forward") if span.parent is None]
    assert root.name == "Net"
    assert tree(root) == {
        "embed": {},
        "blocks.0": block_tree("blocks.0"),
        "blocks.1": block_tree("blocks.1"),
        "head": {},
    }
    assert_all_closed(spans())


def test_types_are_class_and_sizes(watching: joulemap.Session, spans: Spans) -> None:
    model = Net()
    watching.watch(model)
    model(torch.randn(2, 5, 8))
    types = {span.name: span.type for span in spans("forward")}
    assert types["blocks.0.attn.qkv"] == "Linear(16, 48)"
    assert types["blocks.1.ln"] == "LayerNorm(16)"
    assert types["blocks.1.mlp"] == "Sequential"


@pytest.mark.parametrize(
    ("module", "text"),
    [
        (nn.Linear(768, 3072), "Linear(768, 3072)"),
        (nn.Conv2d(64, 128, 3), "Conv2d(64, 128, 3x3)"),
        (nn.Conv2d(64, 64, 3, stride=2, groups=64), "Conv2d(64, 64, 3x3, stride 2x2, groups 64)"),
        (nn.LayerNorm(768), "LayerNorm(768)"),
        (nn.Embedding(100, 16), "Embedding(100, 16)"),
        (nn.BatchNorm2d(64), "BatchNorm2d(64)"),
        (nn.MultiheadAttention(64, 4), "MultiheadAttention(64, 4 heads)"),
        (nn.ReLU(), "ReLU"),
    ],
)
def test_description_tells_class_and_sizes(module: nn.Module, text: str) -> None:
    assert describe(module) == text


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_inference_has_forward_spans_and_no_labels(
    watching: joulemap.Session, spans: Spans, mode: Callable[[], Any]
) -> None:
    model = Net()
    watching.watch(model)
    with mode():
        out = model(torch.randn(2, 5, 8))
    assert out.grad_fn is None
    assert len(spans("forward")) == NET_CALLS
    assert_all_closed(spans())


def test_module_called_twice_has_two_spans(watching: joulemap.Session, spans: Spans) -> None:
    shared = nn.Linear(8, 8)
    model = nn.Sequential(shared, nn.ReLU(), shared)
    watching.watch(model)
    model(torch.randn(2, 8)).sum().backward()
    assert names(spans("forward")) == ["Sequential", "0", "1", "0"]
    assert names(spans("backward")) == ["Sequential", "0", "1", "0"]


def test_module_that_calls_itself_nests(watching: joulemap.Session, spans: Spans) -> None:
    class Recursive(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(8, 8)

        def forward(self, x: Tensor, depth: int) -> Tensor:
            y: Tensor = self.linear(x)
            return self(y, depth - 1) if depth else y

    model = Recursive()
    watching.watch(model)
    model(torch.randn(2, 8), 2).sum().backward()
    assert names(spans("forward")) == ["Recursive", "linear"] * 3
    assert_all_closed(spans())
    deepest = spans("forward")[-1]
    assert deepest.path() == ["Recursive", "Recursive", "Recursive", "linear"]


# ---- backward ----


def test_backward_spans_are_the_module_tree_in_reverse(watching: joulemap.Session, spans: Spans) -> None:
    model = Net()
    watching.watch(model)
    x = torch.randn(2, 5, 8)
    model(x).square().sum().backward()
    (root,) = [span for span in spans("backward") if span.parent is None]
    assert root.name == "Net"
    assert names(root.children) == ["head", "blocks.1", "blocks.0", "embed"]
    for block in root.children[1:3]:
        inner = block.name
        assert names(block.children) == [f"{inner}.mlp", f"{inner}.attn", f"{inner}.ln"]
        assert names(block.children[0].children) == [f"{inner}.mlp.2", f"{inner}.mlp.1", f"{inner}.mlp.0"]
        assert names(block.children[1].children) == [f"{inner}.attn.proj", f"{inner}.attn.qkv"]
    assert_all_closed(spans())


class Probe(torch.autograd.Function):
    """The identity, whose backward notes when it ran."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, name: str, ran: list[tuple[str, int]]) -> Tensor:
        ctx.name, ctx.ran = name, ran
        return x.clone()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        ctx.ran.append((ctx.name, time.monotonic_ns()))
        return grads[0], None, None


class ProbeLayer(nn.Module):
    """Work of its own before, between and after its children; the name of each piece tells whose it is."""

    def __init__(self, name: str, ran: list[tuple[str, int]], **children: ProbeLayer) -> None:
        super().__init__()
        self.name = name
        self.ran = ran
        for child_name, child in children.items():
            self.add_module(child_name, child)

    def forward(self, x: Tensor) -> Tensor:
        x = Probe.apply(x, self.name, self.ran)  # type: ignore[no-untyped-call]
        for child in self.children():
            x = Probe.apply(child(x), self.name, self.ran)  # type: ignore[no-untyped-call]
        return x


def owner(spans: list[Span], t_ns: int) -> str:
    """Name of the innermost span that was open then, "" for none."""
    around = [span for span in spans if span.start_ns <= t_ns and span.end_ns is not None and t_ns <= span.end_ns]
    return max(around, key=lambda span: len(span.path())).name if around else ""


def test_backward_work_belongs_to_the_module_whose_it_is(watching: joulemap.Session, spans: Spans) -> None:
    ran: list[tuple[str, int]] = []
    inner = ProbeLayer("1", ran, a=ProbeLayer("1.a", ran), b=ProbeLayer("1.b", ran))
    model = nn.Sequential(ProbeLayer("0", ran), inner)
    watching.watch(model)
    model(torch.ones(2, requires_grad=True)).sum().backward()
    assert [name for name, _ in ran] == ["1", "1.b", "1", "1.a", "1", "0"]
    assert [owner(spans("backward"), t_ns) for _, t_ns in ran] == [name for name, _ in ran]


def test_in_place_relu_after_a_watched_layer_still_trains(watching: joulemap.Session, spans: Spans) -> None:
    torch.manual_seed(0)
    plain = nn.Sequential(nn.Linear(8, 8), nn.ReLU(inplace=True), nn.Linear(8, 1))
    watched = copy.deepcopy(plain)
    watching.watch(watched)
    x = torch.randn(4, 8)
    plain(x).sum().backward()
    watched(x).sum().backward()
    for expected, got in zip(plain.parameters(), watched.parameters(), strict=True):
        assert expected.grad is not None
        assert got.grad is not None
        assert torch.equal(expected.grad, got.grad)
    assert names(spans("backward")) == ["Sequential", "2", "1", "0"]


def test_outputs_in_containers_are_labelled(watching: joulemap.Session, spans: Spans) -> None:
    @dataclass
    class Output:
        hidden: Tensor
        extra: int

    class Many(nn.Module):
        def __init__(self, kind: str) -> None:
            super().__init__()
            self.kind = kind

        def forward(self, x: Tensor) -> Any:
            y = x * 2
            return {"tuple": (y, None), "dict": {"y": y}, "dataclass": Output(y, 3), "none": None}[self.kind]

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.parts = nn.ModuleDict({kind: Many(kind) for kind in ("tuple", "dict", "dataclass", "none")})

        def forward(self, x: Tensor) -> Tensor:
            x = self.parts["tuple"](x)[0]
            x = self.parts["dict"](x=x)["y"]
            x = self.parts["dataclass"](x).hidden
            assert self.parts["none"](x) is None
            return x

    model = Model()
    watching.watch(model)
    model(torch.ones(3, requires_grad=True)).sum().backward()
    assert names(spans("backward")) == ["Model", "parts.dataclass", "parts.dict", "parts.tuple"]


def test_work_around_the_model_is_in_no_layer(watching: joulemap.Session, spans: Spans) -> None:
    ran: list[tuple[str, int]] = []
    model = nn.Sequential(ProbeLayer("0", ran))
    watching.watch(model)
    before = Probe.apply(torch.ones(2, 4, requires_grad=True), "before", ran)  # type: ignore[no-untyped-call]
    Probe.apply(model(before), "after", ran).sum().backward()  # type: ignore[no-untyped-call]
    assert [name for name, _ in ran] == ["after", "0", "before"]
    assert [owner(spans("backward"), t_ns) for _, t_ns in ran] == ["", "0", ""]


def test_double_backward_works_and_leaves_nothing_open(watching: joulemap.Session, spans: Spans) -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))
    plain = copy.deepcopy(model)
    watching.watch(model)
    results = []
    x = torch.randn(3, 4)
    for net in (plain, model):
        leaf = x.clone().requires_grad_()
        (grad,) = torch.autograd.grad(net(leaf).sum(), leaf, create_graph=True)
        grad.square().sum().backward()
        results.append([weight.grad for weight in net.parameters()])
    for expected, got in zip(*results, strict=True):
        assert (expected is None) == (got is None)
        assert expected is None or (got is not None and torch.equal(expected, got))
    assert_all_closed(spans())


def test_second_backward_through_a_kept_graph_is_recorded_again(watching: joulemap.Session, spans: Spans) -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    watching.watch(model)
    loss = model(torch.randn(3, 4)).sum()
    loss.backward(retain_graph=True)
    loss.backward()
    assert names(spans("backward")) == ["Sequential", "1", "0"] * 2


# ---- recompute ----


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpointed_forward_is_recompute(watching: joulemap.Session, spans: Spans, reentrant: bool) -> None:
    model = Net(checkpointed=reentrant)
    watching.watch(model)
    model(torch.randn(2, 5, 8)).sum().backward()
    recomputed = spans("recompute")
    assert {"blocks.0.attn.qkv", "blocks.1.mlp.0"} <= set(names(recomputed))
    assert not {"embed", "head", "Net"} & set(names(recomputed))
    assert len([span for span in spans("forward") if span.name == "blocks.0.attn.qkv"]) == 1
    backward = set(names(spans("backward")))
    assert {"blocks.0.attn.qkv", "blocks.1.mlp.0", "embed", "head"} <= backward
    assert_all_closed(spans())


# ---- when things go wrong ----


class Broken(nn.Module):
    def __init__(self, where: str) -> None:
        super().__init__()
        self.inner = nn.Linear(4, 4)
        self.where = where

    def forward(self, x: Tensor) -> Tensor:
        x = self.inner(x)
        if self.where == "forward":
            raise ValueError("on purpose")
        return Fails.apply(x)  # type: ignore[no-untyped-call, no-any-return]


class Fails(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        raise ValueError("on purpose")


def test_exception_in_forward_closes_its_spans(watching: joulemap.Session, spans: Spans) -> None:
    model = nn.Sequential(nn.Linear(4, 4), Broken("forward"))
    watching.watch(model)
    with pytest.raises(ValueError, match="on purpose"):
        model(torch.randn(2, 4))
    assert_all_closed(spans())
    model[0](torch.randn(2, 4))
    assert spans("forward")[-1].parent is None


def test_keyboard_interrupt_inside_a_step_closes_its_spans(watching: joulemap.Session, spans: Spans) -> None:
    class Interrupted(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            raise KeyboardInterrupt

    model = nn.Sequential(nn.Linear(4, 4), Interrupted())
    watching.watch(model)
    with pytest.raises(KeyboardInterrupt), watching.step():
        model(torch.randn(2, 4))
    assert_all_closed(spans())


def test_keyboard_interrupt_outside_of_steps_does_not_spoil_what_follows(
    watching: joulemap.Session, spans: Spans
) -> None:
    class Interrupted(nn.Module):
        now = True

        def forward(self, x: Tensor) -> Tensor:
            if self.now:
                raise KeyboardInterrupt
            return x

    last = Interrupted()
    model = nn.Sequential(nn.Linear(4, 4), nn.Sequential(last))
    watching.watch(model)
    for last.now in (True, True, False):
        with contextlib.suppress(KeyboardInterrupt):
            model(torch.randn(2, 4)).sum().backward()
    assert_all_closed(spans())
    *_, root = [span for span in spans("forward") if span.name == "Sequential"]
    assert (root.parent, names(root.children)) == (None, ["0", "1"])


def test_a_module_that_calls_itself_is_inside_of_itself(watching: joulemap.Session, spans: Spans) -> None:
    class Again(nn.Module):
        def forward(self, x: Tensor, times: int) -> Tensor:
            return x if times == 0 else self(x, times - 1)

    model = Again()
    watching.watch(model)
    model(torch.randn(2), 3)
    found = spans("forward")
    assert [span.parent for span in found] == [None, *found[:-1]]
    assert len(found) == 4


@pytest.mark.parametrize("turned", [False, True])
def test_an_optimizers_step_holds_the_passes_in_its_closure(
    watching: joulemap.Session, spans: Spans, turned: bool
) -> None:
    model = nn.Linear(4, 4)
    watching.watch(model)
    if turned:
        tracing.update(_core.TRACING["off"])
        tracing.update(_core.TRACING["on"])
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=2)
    x = torch.randn(2, 4)

    def closure() -> Tensor:
        optimizer.zero_grad()
        loss: Tensor = model(x).square().sum()
        loss.backward()
        with contextlib.suppress(ValueError), watching.phase("inside"):
            raise ValueError("on purpose")
        return loss

    optimizer.step(closure)
    (step,) = spans("optimizer")
    passes = spans("forward")
    assert len(passes) > 1
    assert all(each.parent is not None and each.parent.name == "LBFGS" for each in passes)
    assert step.end_ns is not None
    assert step.end_ns > (passes[-1].end_ns or 0)


def test_a_step_that_raises_holds_nothing_that_follows(watching: joulemap.Session, spans: Spans) -> None:
    class Raises(torch.optim.SGD):
        def step(self, closure: Any = None) -> Any:
            raise ValueError("on purpose")

    model = nn.Linear(4, 4)
    watching.watch(model)
    optimizer = Raises(model.parameters(), lr=0.1)
    with contextlib.suppress(ValueError), watching.step():
        optimizer.step()
    assert names(spans("optimizer")) == ["Raises"]
    assert_all_closed(spans())


def test_exception_in_backward_does_not_spoil_the_next_pass(watching: joulemap.Session, spans: Spans) -> None:
    bad = nn.Sequential(nn.Linear(4, 4), Broken("backward"), nn.ReLU())
    good = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    watching.watch(bad)
    watching.watch(good, name="good")
    with pytest.raises(ValueError, match="on purpose"):
        bad(torch.randn(2, 4)).sum().backward()
    assert_all_closed(spans())
    good(torch.randn(2, 4)).sum().backward()
    assert_all_closed(spans())
    (root,) = [span for span in spans("backward") if span.name == "good"]
    assert root.parent is None
    assert names(root.children) == ["good.1", "good.0"]


def test_a_users_failing_hook_leaves_nothing_open(watching: joulemap.Session, spans: Spans) -> None:
    def fail(*_: Any) -> None:
        raise ValueError("on purpose")

    model = nn.Sequential(nn.Linear(4, 4))
    watching.watch(model)
    model[0].register_forward_pre_hook(fail)
    with pytest.raises(ValueError, match="on purpose"):
        model(torch.randn(2, 4))
    assert_all_closed(spans())


# ---- coming and going ----


HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


def assert_no_hooks(model: nn.Module) -> None:
    for module in model.modules():
        for hooks in HOOKS:
            assert not getattr(module, hooks), f"{hooks} of {module}"


def test_a_watched_model_has_no_hooks_of_its_own(watching: joulemap.Session) -> None:
    # torch.jit.script, copies, quantization and torch.cuda.make_graphed_callables take a module's own hooks along.
    model = Net()
    watching.watch(model)
    assert_no_hooks(model)


def test_a_copy_of_a_watched_model_is_not_watched(watching: joulemap.Session, spans: Spans) -> None:
    model = Net()
    watching.watch(model)
    twin = copy.deepcopy(model)
    twin(torch.randn(2, 5, 8)).sum().backward()
    assert_no_hooks(twin)
    assert not spans()
    watching.watch(twin)
    twin(torch.randn(2, 5, 8))
    assert len(spans("forward")) == NET_CALLS


# What a program without joulemap does with the files: every attempt to import joulemap fails there.
LOADER = """
import sys
sys.modules["joulemap"] = None
import torch
whole = torch.load(sys.argv[1], weights_only=False)
plain = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU())
plain.load_state_dict(torch.load(sys.argv[2], weights_only=True))
x = torch.arange(8.0).reshape(2, 4)
assert torch.equal(whole(x), plain(x))
whole(x).sum().backward()
assert not whole._forward_hooks and not whole[0]._forward_hooks
"""


def test_a_model_saved_while_watched_loads_without_joulemap(watching: joulemap.Session, tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    watching.watch(model)
    model(torch.randn(2, 4)).sum().backward()
    torch.save(model, tmp_path / "whole.pt")
    torch.save(model.state_dict(), tmp_path / "weights.pt")
    assert b"joulemap.torch" not in (tmp_path / "whole.pt").read_bytes()
    command = [sys.executable, "-c", LOADER, str(tmp_path / "whole.pt"), str(tmp_path / "weights.pt")]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_model_loaded_where_another_is_watched_has_no_layers(watching: joulemap.Session, spans: Spans) -> None:
    model = nn.Sequential(nn.Linear(4, 4))
    watching.watch(model)
    file = io.BytesIO()
    torch.save(model, file)
    file.seek(0)
    torch.load(file, weights_only=False)(torch.randn(2, 4))
    assert not spans()


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")
def test_a_watched_model_can_be_scripted(watching: joulemap.Session, spans: Spans) -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    watching.watch(model)
    scripted = torch.jit.script(model)
    x = torch.randn(2, 4)
    before = len(spans())
    result = scripted(x)
    assert len(spans()) == before
    assert torch.equal(result, model(x))
    assert len(spans("forward")) == before + 3


def test_replicas_of_a_watched_model_are_the_same_layers(watching: joulemap.Session, spans: Spans) -> None:
    model = nn.Linear(4, 4)
    watching.watch(model)
    replica = model._replicate_for_data_parallel()  # as nn.DataParallel makes one for each GPU
    replica.weight, replica.bias = model.weight, model.bias
    replica(torch.randn(2, 4)).sum().backward()
    assert names(spans("forward")) == names(spans("backward")) == ["Linear"]


def test_a_watched_model_that_is_gone_leaves_nothing(watching: joulemap.Session) -> None:
    before = len(layers)
    watching.watch(Net())
    gc.collect()
    assert len(layers) == before


def test_other_models_run_beside_a_watched_one_unseen(watching: joulemap.Session, spans: Spans) -> None:
    class Keyword(nn.Module):
        def forward(self, x: Tensor, *, factor: float) -> Tensor:
            return x * factor

    watching.watch(nn.Linear(4, 4))
    other = Keyword()
    assert torch.equal(other(torch.ones(2), factor=3.0), torch.full((2,), 3.0))
    assert not spans()
    watching.watch(other)
    other(torch.ones(2), factor=3.0)
    assert names(spans("forward")) == ["Keyword"]


def test_watching_twice_does_not_double_the_spans(watching: joulemap.Session, spans: Spans) -> None:
    model = nn.Sequential(nn.Linear(4, 4))
    watching.watch(model)
    watching.watch(model)
    model(torch.randn(2, 4))
    assert names(spans("forward")) == ["Sequential", "0"]


class Adapted(nn.Module):
    """A layer with a small one beside it, as LoRA has it."""

    def __init__(self, base: nn.Module) -> None:
        super().__init__()
        self.base_layer = base
        self.lora_a = nn.Linear(16, 2)
        self.lora_b = nn.Linear(2, 16)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.base_layer(x) + self.lora_b(self.lora_a(x))
        return out


def test_modules_that_are_put_in_later_are_layers(watching: joulemap.Session, spans: Spans) -> None:
    model: Any = nn.Sequential(nn.Linear(16, 16), Block(), nn.ModuleDict({"a": nn.Linear(16, 2)}))
    watch = watching.watch(model, name="net")
    before = len(watch)
    model[2]["b"] = nn.Sequential(nn.Linear(16, 4))
    model[1].attn.proj = Adapted(model[1].attn.proj)
    model.add_module("last", nn.ReLU())
    model[0] = nn.Linear(16, 16, bias=False)
    model[0].register_module("none", None)
    assert len(watch) == before + 6
    model[2]["b"](model[1](model[0](torch.ones(1, 16))))
    names = [span.name for span in spans("forward")]
    assert names == [
        "net.0",
        "net.1",
        "net.1.ln",
        "net.1.attn",
        "net.1.attn.qkv",
        "net.1.attn.proj",  # once: what is around it is no layer
        "net.1.attn.proj.lora_a",
        "net.1.attn.proj.lora_b",
        "net.1.mlp",
        "net.1.mlp.0",
        "net.1.mlp.1",
        "net.1.mlp.2",
        "net.2.b",
        "net.2.b.0",
    ]
    watch.remove()
    model[0] = nn.Linear(16, 16)
    assert len(watch) == 0


def test_modules_that_come_past_pytorchs_hooks_are_warned_of(watching: joulemap.Session, spans: Spans) -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    watching.watch(model, name="net")
    model._modules["1"] = nn.Linear(2, 2)
    with pytest.warns(RuntimeWarning, match=r"1 modules of net came after watch\(\).*net\.1"):
        watching.report()
    model(torch.ones(1, 2))
    assert [span.name for span in spans("forward")] == ["net", "net.0", "net.1"]


class Stack(nn.Module):
    def __init__(self, count: int = 3) -> None:
        super().__init__()
        self.stack = nn.ModuleList(nn.Linear(2, 2) for _ in range(count))

    def forward(self, x: Tensor) -> Tensor:
        for part in self.stack:
            x = part(x)
        return x


def drop_and_append(net: Any) -> None:
    del net.stack[0]
    net.stack.append(nn.ReLU())


def turn_around(net: Any) -> None:
    net.stack = nn.ModuleList([nn.ReLU(), *reversed(net.stack)])


def swap(net: Any) -> None:
    first, last = net.stack[0], net.stack[2]
    net.stack[0], net.stack[2] = last, first


def take_out(net: Any) -> None:
    net.last = nn.Sequential(net.stack.pop(2))
    net.stack.append(nn.Sequential(nn.ReLU(), nn.ReLU()))


@pytest.mark.parametrize("change", [drop_and_append, turn_around, swap, take_out])
def test_a_module_that_moved_has_the_path_that_it_has_now(
    watching: joulemap.Session, spans: Spans, change: Callable[[Any], None]
) -> None:
    net = Stack()
    watching.watch(net, name="net")
    change(net)
    for module in net.modules():
        if not isinstance(module, nn.ModuleList):
            module(torch.ones(1, 2))
    called = [
        f"net.{path}" if path else "net"
        for outer, top in net.named_modules()
        if not isinstance(top, nn.ModuleList)
        for path in called_by(top, outer)
    ]
    assert names(spans("forward")) == called


def called_by(module: nn.Module, path: str) -> list[str]:
    inside = module.stack.named_children() if isinstance(module, Stack) else module.named_children()
    where = "stack." if isinstance(module, Stack) else f"{path}."
    below = [inner for name, child in inside for inner in called_by(child, where + name)]
    return [path, *below] if isinstance(module, Stack | nn.Sequential) else [path]


def test_modules_that_moved_past_pytorchs_hooks_are_warned_of(watching: joulemap.Session, spans: Spans) -> None:
    net = Stack()
    watching.watch(net, name="net")
    net.stack.insert(1, nn.ReLU())
    with (
        pytest.warns(RuntimeWarning, match=r"1 modules of net came after watch\(\).*net\.stack\.1"),
        pytest.warns(RuntimeWarning, match=r"2 modules of net moved past PyTorch's hooks \(net\.stack\.1 \.\.\.\)"),
    ):
        watching.report()
    net(torch.ones(1, 2))
    assert names(spans("forward")) == ["net", "net.stack.0", "net.stack.1", "net.stack.2", "net.stack.3"]


def test_what_is_put_around_moved_layers_has_no_row(watching: joulemap.Session, spans: Spans) -> None:
    model: Any = nn.Sequential(nn.Linear(16, 16), Block(), nn.ReLU())
    watching.watch(model, name="net")
    del model[0]
    with pytest.warns(RuntimeWarning, match=r"10 modules of net moved.*net\.1 "):
        model[0] = Around(model[0])
    model.append(nn.Linear(16, 2))
    model(torch.ones(1, 16))
    assert "net.0.attn.qkv" in names(spans("forward"))
    assert len(spans("forward")) == len(set(names(spans("forward")))) == 1 + 9 + 2
    watching.report()  # warns of nothing: each was told as it was put in


class Around(nn.Module):
    def __init__(self, held: nn.Module) -> None:
        super().__init__()
        self.held = held

    def forward(self, x: Tensor) -> Tensor:
        return self.held(x)  # type: ignore[no-any-return]


def test_a_model_that_cannot_be_looked_through_stops_no_report(watching: joulemap.Session) -> None:
    class Changing(dict[str, Any]):
        def items(self) -> Any:
            raise RuntimeError("dictionary changed size during iteration")

    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    watching.watch(model, name="net")
    object.__setattr__(model, "_modules", Changing(model._modules))
    with pytest.warns(RuntimeWarning, match=r"cannot look for new modules of net: dictionary changed size"):
        watching.report()


def test_a_module_that_cannot_be_watched_stops_no_program(watching: joulemap.Session) -> None:
    class HalfMade(nn.Linear):
        in_features: Any = property(lambda self: 1 / 0)

    model = nn.Sequential(nn.ReLU())
    watching.watch(model, name="net")
    half = HalfMade.__new__(HalfMade)
    nn.Module.__init__(half)
    with pytest.warns(RuntimeWarning, match=r"cannot watch '0' of net"):
        model[0] = half
    assert model[0] is half


def test_two_models_have_names_of_their_own(watching: joulemap.Session, spans: Spans) -> None:
    one, two = nn.Sequential(nn.Linear(4, 4)), nn.Sequential(nn.Linear(4, 4))
    watching.watch(one)
    watching.watch(two)
    two(one(torch.randn(2, 4)))
    assert names(spans("forward")) == ["Sequential", "0", "Sequential_2", "Sequential_2.0"]


def test_only_modules_can_be_watched(watching: joulemap.Session) -> None:
    with pytest.raises(TypeError, match=r"torch\.nn\.Module"):
        watching.watch(lambda x: x)


# ---- around the model ----


@pytest.mark.parametrize("optimizer_class", [torch.optim.SGD, torch.optim.AdamW])
def test_optimizer_steps_have_spans(
    watching: joulemap.Session, spans: Spans, optimizer_class: type[torch.optim.Optimizer]
) -> None:
    model = nn.Linear(4, 4)
    watching.watch(model)
    optimizer = optimizer_class(model.parameters(), lr=0.1)  # type: ignore[call-arg]
    for _ in range(2):
        model(torch.randn(2, 4)).sum().backward()
        optimizer.step()
    found = spans("optimizer")
    assert names(found) == [optimizer_class.__name__] * 2
    assert_all_closed(found)


def test_threads_have_trees_of_their_own(watching: joulemap.Session, spans: Spans) -> None:
    model = Net()
    watching.watch(model)
    start = threading.Barrier(4)

    def work() -> None:
        start.wait()
        for _ in range(5):
            model(torch.randn(2, 5, 8)).sum().backward()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert_all_closed(spans())
    for kind in ("forward", "backward"):
        roots = [span for span in spans(kind) if span.parent is None]
        assert names(roots) == ["Net"] * 20
        assert len({span.tid for span in roots}) == 4
        assert len(spans(kind)) == 20 * NET_CALLS


def test_compiled_model_still_trains(watching: joulemap.Session, spans: Spans) -> None:
    model = Net()
    compiled = torch.compile(model, backend="aot_eager")
    watching.watch(compiled)
    expected = torch.func.functional_call(model, dict(model.named_parameters()), (torch.ones(2, 5, 8),))
    count = len(spans())
    out = compiled(torch.ones(2, 5, 8))
    assert torch.allclose(out, expected, atol=1e-6)
    out.sum().backward()
    assert "Net" in names(spans("forward")[count:])
    assert "Net" in names(spans("backward"))
    assert_all_closed(spans())


@pytest.mark.filterwarnings("error")
def test_compiling_a_watched_model_breaks_no_graph(watching: joulemap.Session) -> None:
    model = Net()
    watching.watch(model)
    compiled = torch.compile(model, backend="eager", fullgraph=True)
    assert compiled(torch.ones(2, 5, 8)).shape == (2, 5, 4)


def test_a_model_compiled_after_it_was_watched_is_one_layer(watching: joulemap.Session, spans: Spans) -> None:
    model = Net()
    watching.watch(model)
    compiled = torch.compile(model, backend="aot_eager")
    for _ in range(2):
        compiled(torch.ones(2, 5, 8)).sum().backward()
    assert names(spans("forward")) == ["Net", "Net"]
    assert set(names(spans("backward"))) == {"Net"}
    assert_all_closed(spans())


def test_what_runs_uncompiled_inside_a_compiled_model_has_its_layers(watching: joulemap.Session, spans: Spans) -> None:
    model = Net()
    watching.watch(model)
    compiled = torch.compile(model, backend="eager")
    with torch.compiler.set_stance("force_eager"):
        compiled(torch.ones(2, 5, 8))
    assert len(spans("forward")) == NET_CALLS
    assert names(spans("forward")).count("Net") == 1


def test_scripted_parts_work_and_count_as_their_container(watching: joulemap.Session, spans: Spans) -> None:
    model = nn.Sequential(torch.jit.script(nn.Linear(4, 4)), nn.ReLU())
    watching.watch(model)
    model(torch.randn(2, 4)).sum().backward()
    assert names(spans("forward")) == ["Sequential", "1"]
    assert_all_closed(spans())


def test_watched_models_can_be_vmapped_traced_and_exported(watching: joulemap.Session) -> None:
    model = nn.Sequential(nn.Linear(4, 4))
    watching.watch(model)
    x = torch.randn(2, 4)
    weights = dict(model.named_parameters())
    assert torch.func.vmap(model)(torch.randn(3, 2, 4)).shape == (3, 2, 4)
    gradient = torch.func.grad(lambda w: torch.func.functional_call(model, w, (x,)).sum())(weights)
    assert set(gradient) == set(weights)
    assert torch.fx.symbolic_trace(model)(x).shape == (2, 4)
    assert torch.export.export(model, (x,)).module()(x).shape == (2, 4)
