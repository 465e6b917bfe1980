"""Kernels of what torch.compile has compiled go to the modules that their code came from."""

from __future__ import annotations

import json
import types
from collections.abc import Callable
from typing import Any

import joulemap
import pytest
import torch
from compiled_models import PRODUCTS, Block, Net, graphs, products, train
from joulemap import _compiled, _inductor
from joulemap._inductor import Module
from ring_reader import Span
from torch import nn

Spans = Callable[..., list[Span]]

pytestmark = pytest.mark.usefixtures("fresh_dynamo")


# ---- what there is ----


@pytest.mark.usefixtures("inductor")
def test_kernels_come_in_the_order_of_their_modules(watching: joulemap.Session, spans: Spans) -> None:
    model = Net()
    watching.watch(model)
    train(torch.compile(model))
    assert products(spans("forward")) == PRODUCTS
    assert products(spans("backward"))[0] == "head"


# ---- where nothing can be told ----


def test_marks_of_another_time_open_nothing(watching: joulemap.Session, spans: Spans) -> None:
    watching.watch(Block())
    region = _compiled.enter()
    for mark in ("", "[]", '["sideways",[],"",""]', '["forward",[["L[\'self\']","elsewhere","Linear"]],"",""]'):
        region(mark)
    assert spans() == []


# ---- the rule ----


def node(operation: str, *stack: tuple[str, str], key: str = "nn_module_stack", **meta: Any) -> Any:
    """A node of a graph: of an operation of ATen, in these modules (path from `self`, class)."""
    modules = {f"m{path}": (f"L['self'].{path}", types.new_class(cls)) for path, cls in stack}
    target = getattr(torch.ops.aten, operation).default if operation in ("relu", "addmm", "view") else None
    found: Any = types.SimpleNamespace(op="call_function", target=target, meta={"stack_trace": "", **meta})
    if target is None:
        found.target = types.SimpleNamespace(__name__=operation)
    if modules:
        found.meta[key] = modules
    return found


FC, ACT, BLOCK = ("block.fc", "Linear"), ("block.act", "ReLU"), ("block", "Block")


def mark(*nodes: Any, kind: str = "forward", may_be_backward: bool = False) -> list[Any]:
    result: list[Any] = json.loads(_inductor.mark_of(nodes, kind, may_be_backward=may_be_backward))
    return result


def paths(found: list[Any]) -> list[str]:
    return [Module(*module).path for module in found[1]]


def test_a_kernel_of_one_module_is_of_that_module() -> None:
    found = mark(node("addmm", BLOCK, FC), node("relu", BLOCK, FC))
    assert (paths(found), found[2:]) == (["block", "block.fc"], ["", ""])


def test_a_look_at_memory_is_no_work() -> None:
    found = mark(node("view", BLOCK, FC), node("relu", BLOCK, ACT))
    assert (paths(found), found[2]) == (["block", "block.act"], "")
    assert paths(mark(node("view", BLOCK, FC))) == ["block", "block.fc"]  # where there is nothing else


def test_a_fused_kernel_is_called_by_its_parts() -> None:
    found = mark(node("addmm", BLOCK, FC), node("relu", BLOCK, ACT))
    assert (paths(found), found[2:]) == (["block"], ["fused fc + act", "fused(Linear, ReLU)"])
    found = mark(node("add", BLOCK), node("relu", BLOCK, ACT))
    assert (paths(found), found[2:]) == (["block"], ["fused add + act", "fused(add, ReLU)"])


def test_the_name_of_a_fused_kernel_is_bounded() -> None:
    many = [node("relu", BLOCK, (f"block.{'x' * 20}{i}", f"Class{i}")) for i in range(50)]
    found = mark(*many)
    assert found[2].endswith("47 more")
    long = [node("relu", BLOCK, (f"block.{'x' * 200}{i}", f"Class{i}")) for i in range(2)]
    assert len(mark(*long)[2]) < 120


def test_a_sum_of_gradients_is_of_what_it_is_fused_with() -> None:
    of_fc = node("addmm", BLOCK, FC, key="fwd_nn_module_stack")
    gradients = node("add", partitioner_tag="is_backward", is_gradient_acc=True)
    found = mark(gradients, of_fc, kind="recompute", may_be_backward=True)
    assert (found[0], paths(found), found[2]) == ("backward", ["block", "block.fc"], "")


def test_forward_nodes_of_a_backward_graph_recompute() -> None:
    forward = node("addmm", BLOCK, FC)
    backward = node("addmm", BLOCK, FC, key="fwd_nn_module_stack")
    assert mark(forward, kind="recompute", may_be_backward=True)[0] == "recompute"
    assert mark(forward, backward, kind="recompute", may_be_backward=True)[0] == "backward"
    assert mark(backward, kind="forward")[0] == "forward"  # what forward does early for it


@pytest.mark.parametrize(
    ("text", "root", "path"),
    [
        ("L['self'].blocks.0.attn", "L['self']", "blocks.0.attn"),
        ("L['self'].blocks[0].attn", "L['self']", "blocks.0.attn"),
        ("L['self']._modules['blocks'][0]", "L['self']", "blocks.0"),
        ("G['model']", "G['model']", ""),
        ("L['self']._orig_mod.fc", "L['self']", "fc"),
        ("blocks.0.fc", "", "blocks.0.fc"),
    ],
)
def test_dynamos_names_of_modules_are_paths(text: str, root: str, path: str) -> None:
    assert _inductor._split(text) == (root, path)


def test_watching_time_and_again_compiles_nothing_anew(watching: joulemap.Session) -> None:
    model = nn.Sequential(nn.utils.parametrizations.spectral_norm(nn.Linear(8, 8)), nn.Linear(8, 8)).eval()
    model[0].register_forward_hook(lambda *_: None)  # such a call looks at the hooks of all modules
    compiled = torch.compile(model, backend="eager")
    counts = []
    with torch.no_grad():
        for _ in range(10):
            watching.watch(model)
            compiled(torch.ones(4, 8))
            watching.unwatch()
            compiled(torch.ones(4, 8))
            counts.append(graphs())
    assert counts[-1] == counts[0]
