"""How calls of modules are heard of: in the place of nn.Module.__call__ where that is safe, else by hooks."""

from __future__ import annotations

import gc
import inspect
import re
import subprocess
import sys
import traceback
import types
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import joulemap
import pytest
import torch
from compiled_models import Net
from joulemap import _core, _module_calls
from joulemap._backward import Frame
from joulemap._module_calls import call_tracing, calls
from joulemap._threads import local
from joulemap._tracing import tracing
from ring_reader import Span
from torch import Tensor, nn
from torch._dynamo.utils import counters
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn.modules import module as all_modules

Spans = Callable[..., list[Span]]

PYTORCHS = nn.Module._wrapped_call_impl


def in_place() -> Any:
    """What `nn.Module.__call__` is."""
    return vars(nn.Module)["__call__"]


def has_hooks() -> bool:
    return bool(all_modules._global_forward_hooks or all_modules._global_forward_pre_hooks)


def is_quick() -> bool:
    return in_place() is calls and calls.on and not has_hooks()


def is_by_hooks() -> bool:
    return in_place() is PYTORCHS and not calls.on and has_hooks()


@pytest.fixture(autouse=True)
def start(monkeypatch: pytest.MonkeyPatch, fresh_dynamo: None) -> Iterator[None]:
    """As at the start of a program, whatever earlier tests have compiled; and all is as it was at the end."""
    for name, value in (("compiled", False), ("requested", False), ("_changes", 0)):
        monkeypatch.setattr(call_tracing, name, value)
    yield
    assert in_place() is PYTORCHS
    assert not has_hooks()


@pytest.fixture
def watching(module_session: joulemap.Session) -> Iterator[joulemap.Session]:
    yield module_session
    module_session.unwatch()


@pytest.fixture
def theirs() -> Iterator[Callable[[], list[str]]]:
    """A function that puts somebody else's patch around what is there, and returns what it is told of."""
    there = in_place()

    def put() -> list[str]:
        told: list[str] = []
        before = in_place()

        def call(self: nn.Module, *args: Any, **kwargs: Any) -> Any:
            told.append(type(self).__name__)
            return before(self, *args, **kwargs)

        nn.Module.__call__ = call  # type: ignore[method-assign]
        return told

    yield put
    nn.Module.__call__ = there  # type: ignore[method-assign]


class Scaled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Tensor, *, factor: float = 1.0) -> Tensor:
        return self.linear(x) * factor  # type: ignore[no-any-return]


def model() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 4), nn.ReLU())


X = torch.ones(2, 4)


def names(spans: list[Span]) -> list[str]:
    return [span.name for span in spans]


def assert_all_closed(spans: list[Span]) -> None:
    assert spans
    assert [span.name for span in spans if span.end_ns is None] == []
    assert (local.state.frame, local.state.backwards, local.state.regions) == (None, [], [])


# ---- where it is safe ----


def test_a_watched_model_has_no_hooks_where_nothing_is_compiled(watching: joulemap.Session, spans: Spans) -> None:
    net = model()
    watching.watch(net)
    assert is_quick()
    net(X).sum().backward()
    assert names(spans("forward")) == ["Sequential", "0", "1"]
    assert names(spans("backward")) == ["Sequential", "1", "0"]
    assert_all_closed(spans())
    watching.unwatch()
    net(X)
    assert len(spans("forward")) == 3


def test_optimizers_and_functions_that_are_not_compiled_change_nothing(watching: joulemap.Session) -> None:
    net = model()
    watching.watch(net)
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    net(X).sum().backward()
    optimizer.step()
    torch.compiler.disable(lambda x: net(x))(X)
    assert is_quick()


@pytest.mark.parametrize("how", ["module(x)", "__call__", "class", "super"])
def test_all_ways_to_call_a_module_are_one_call(watching: joulemap.Session, spans: Spans, how: str) -> None:
    class Through(nn.ReLU):
        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            return super().__call__(*args, **kwargs)

    net = Through() if how == "super" else nn.ReLU()
    watching.watch(net)
    bound: Callable[..., Any] = types.MethodType(nn.Module.__call__, net)
    call = net.__call__ if how == "__call__" else bound if how == "class" else net
    assert torch.equal(call(X), X)
    assert names(spans("forward")) == [type(net).__name__]


def test_keyword_arguments_and_results_go_through(watching: joulemap.Session, spans: Spans) -> None:
    net = Scaled()
    expected = net(X, factor=2.0)
    watching.watch(net)
    assert torch.equal(net(X, factor=2.0), expected)
    assert torch.equal(net(x=X, factor=2.0), expected)
    with pytest.raises(TypeError, match="unexpected keyword argument 'scale'"):
        net(X, scale=2.0)
    assert names(spans("forward")) == ["Scaled", "linear"] * 2 + ["Scaled"]
    assert_all_closed(spans())


def test_who_asks_what_it_is_is_told_of_pytorchs_own(watching: joulemap.Session) -> None:
    net = Scaled()
    signature = inspect.signature(nn.Module.__call__)
    watching.watch(net)
    assert is_quick()
    call: Any = nn.Module.__call__
    assert inspect.signature(call) == signature
    assert (call.__name__, call.__code__, call.__wrapped__) == (PYTORCHS.__name__, PYTORCHS.__code__, PYTORCHS)
    assert net.__call__.__self__ is net  # type: ignore[attr-defined]
    with pytest.raises(TypeError, match="self"):
        call()
    with pytest.raises(AttributeError):
        call(3)
    with pytest.raises(AttributeError):
        _ = call.nothing


# ---- what a module does ----


def test_a_modules_own_hooks_run_inside_its_span(watching: joulemap.Session, spans: Spans) -> None:
    kind = _core.SPAN_KINDS["window"]

    def note(text: str) -> None:
        _core.span_end(_core.span_begin(kind, _core.intern(text)))

    def double(_module: nn.Module, args: tuple[Tensor]) -> tuple[Tensor]:
        note("before")
        return (args[0] * 2,)

    def triple(_module: nn.Module, _args: Any, _kwargs: Any, result: Tensor) -> Tensor:
        note("after")
        return result * 3

    net = nn.ReLU()
    net.register_forward_pre_hook(double)
    net.register_forward_hook(triple, with_kwargs=True)
    net.register_full_backward_hook(lambda *_: note("backward"))
    watching.watch(net)
    x = X.clone().requires_grad_()
    y = net(x)
    assert torch.equal(y, 6 * X)
    y.sum().backward()
    assert [span.path() for span in spans("window")][:2] == [["ReLU", "before"], ["ReLU", "after"]]
    assert "backward" in names(spans("window"))
    assert_all_closed(spans())


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_what_a_forward_raises_comes_through_and_ends_its_spans(
    watching: joulemap.Session, spans: Spans, error: type[BaseException]
) -> None:
    class Fails(nn.Module):
        def forward(self, _x: Tensor) -> Tensor:
            raise error("on purpose")

    net = nn.Sequential(nn.ReLU(), Fails())
    watching.watch(net)
    with pytest.raises(error, match="on purpose") as raised:
        net(X)
    assert names(spans("forward")) == ["Sequential", "0", "1"]
    assert_all_closed(spans())
    files = [Path(frame.filename) for frame in traceback.extract_tb(raised.value.__traceback__)]
    assert not [file for file in files if Path(joulemap.__file__).parent in file.parents]


def test_a_generator_of_a_forward_runs_where_it_is_asked(watching: joulemap.Session, spans: Spans) -> None:
    class Stream(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(4, 4)

        def forward(self, x: Tensor) -> Iterator[Tensor]:
            for _ in range(3):
                yield self.linear(x)

    net = Stream()
    watching.watch(net)
    assert len(list(net(X))) == 3
    assert names(spans("forward")) == ["Stream", "linear", "linear", "linear"]
    assert {span.parent for span in spans("forward")} == {None}
    assert_all_closed(spans())


def test_what_cannot_be_labelled_is_warned_of_once_and_runs(watching: joulemap.Session, spans: Spans) -> None:
    class Odd(dict[str, Tensor]):
        def values(self) -> Any:
            raise RuntimeError("of no use")

    class Gives(nn.Module):
        def forward(self, x: Tensor) -> Odd:
            return Odd(x=x * 2)

    net = Gives()
    watching.watch(net)
    with pytest.warns(RuntimeWarning, match=r"cannot label .*RuntimeError: of no use") as warned:
        for _ in range(2):
            assert torch.equal(net(X)["x"], 2 * X)
    assert len(warned) == 1
    assert_all_closed(spans())


# ---- memory ----


def frames() -> int:
    return sum(type(each) is Frame for each in gc.get_objects())


@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("way", ["quick", "hooks"])
def test_many_calls_keep_nothing(
    watching: joulemap.Session, monkeypatch: pytest.MonkeyPatch, grad: bool, way: str
) -> None:
    class Fails(nn.Module):
        def forward(self, _x: Tensor) -> Tensor:
            raise ValueError

    monkeypatch.setattr(call_tracing, "requested", way == "hooks")
    net, fails = Scaled(), Fails()
    watching.watch(net)
    watching.watch(fails)
    assert is_quick() if way == "quick" else is_by_hooks()
    told: dict[str, Any] = {"tensor": X.clone(), "net": net, "calls": calls, "layer": net.linear, "none": None}
    told["thread"] = local.state

    def work() -> None:
        with torch.set_grad_enabled(grad):
            result = net(told["tensor"], factor=2.0)
        if grad:
            result.sum().backward()
        with pytest.raises(ValueError):
            fails(told["tensor"])

    def counts() -> dict[str, int]:
        gc.collect()
        return {name: sys.getrefcount(value) for name, value in told.items()} | {"frames": frames()}

    def grown() -> tuple[int, dict[str, int]]:
        """How many references to None 200 calls add, and to all else."""
        before = counts()
        for _ in range(200):
            work()
        after = counts()
        return after.pop("none") - before.pop("none"), {name: after[name] - before[name] for name in after}

    grown()  # what comes once is over: other tests' garbage, caches that fill
    assert frames() == 0
    for _ in range(3):  # None is everybody's, and other tests' garbage may take its time
        of_none, of_others = grown()
        assert not any(of_others.values())
        if abs(of_none) < 50:
            break
    assert abs(of_none) < 50


def test_ctrl_c_while_values_are_labelled_is_the_programs(watching: joulemap.Session) -> None:
    class Interrupts(Mapping[str, Tensor]):
        def __getitem__(self, _key: str) -> Tensor:
            raise KeyboardInterrupt

        def __iter__(self) -> Iterator[str]:
            return iter("x")

        def __len__(self) -> int:
            return 1

    class Takes(nn.Module):
        def forward(self, _values: Any) -> int:
            return 1

    net = Takes()
    watching.watch(net)
    assert is_quick()
    with pytest.raises(KeyboardInterrupt):
        net(Interrupts())
    assert net({}) == 1
    assert frames() == 0


def test_a_graph_keeps_the_calls_that_it_is_labelled_with_and_no_longer(watching: joulemap.Session) -> None:
    net = model()
    watching.watch(net)
    result = net(X)
    assert frames() > 0
    del result
    gc.collect()
    assert frames() == 0


# ---- torch.compile ----


def graphs() -> int:
    return int(counters["stats"]["unique_graphs"])


def seen_by_a_backend(seen: list[Any]) -> Callable[..., Any]:
    def backend(graph: Any, _inputs: Any) -> Any:
        seen.append((in_place(), has_hooks()))
        return graph.forward

    return backend


@pytest.mark.parametrize("how", ["model", "in place", "function", "inside"])
def test_hooks_take_over_before_anything_is_compiled(watching: joulemap.Session, spans: Spans, how: str) -> None:
    class Lazy(nn.Module):
        """Compiles a part of itself in its first call."""

        def __init__(self) -> None:
            super().__init__()
            self.net = Net()

        def forward(self, x: Tensor) -> Tensor:
            if not hasattr(self, "called"):
                self.called = torch.compile(self.net.head.forward, backend=seen_by_a_backend(seen))
            return self.called(self.net.blocks[0](x))

    seen: list[Any] = []
    net: nn.Module = Lazy() if how == "inside" else Net()
    watching.watch(net)
    if how != "inside":
        net(torch.ones(2, 8))
    assert is_quick()
    before = len(spans("forward"))
    call: Callable[[Tensor], Any] = net
    if how == "model":
        call = torch.compile(net, backend=seen_by_a_backend(seen))
    elif how == "in place":
        net.compile(backend=seen_by_a_backend(seen))
    elif how == "function":
        call = torch.compile(lambda x: net(x), backend=seen_by_a_backend(seen))
    for _ in range(2):
        call(torch.ones(2, 8)).sum().backward()
    assert set(seen) == {(PYTORCHS, True)}
    assert graphs() == len(seen) == 1
    assert is_by_hooks()
    assert_all_closed(spans())
    roots = [name for name in names(spans("forward")[before:]) if name == type(net).__name__]
    assert len(roots) == (0 if how == "function" else 2)


def test_hooks_are_used_where_something_was_compiled_before(watching: joulemap.Session, spans: Spans) -> None:
    other = nn.Linear(4, 4)
    torch.compile(other, backend="eager")(X)
    net = model()
    watching.watch(net)
    assert is_by_hooks()
    net(X)
    assert names(spans("forward")) == ["Sequential", "0", "1"]


@pytest.mark.parametrize(
    "missing",
    [
        "eval_frame.OptimizeContext",
        "eval_frame.cached_backends",
        "symbolic_convert.InstructionTranslator",
        "callback.callback_handler",
    ],
)
def test_another_pytorch_of_which_not_all_is_heard_has_hooks(
    watching: joulemap.Session, spans: Spans, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    net = model()
    with monkeypatch.context() as patch:
        patch.delattr(f"torch._dynamo.{missing}")
        watching.watch(net)
    assert is_by_hooks()
    net(X)
    assert names(spans("forward")) == ["Sequential", "0", "1"]


def test_a_call_that_began_quickly_has_one_span_though_hooks_come_while_it_runs(
    watching: joulemap.Session, spans: Spans
) -> None:
    class Turns(nn.Module):
        """Runs part of itself before and part of it after."""

        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.ReLU(), nn.ReLU()

        def forward(self, x: Tensor) -> Tensor:
            x = self.first(x)
            call_tracing.on_compile()
            return self.second(x)  # type: ignore[no-any-return]

        def _call_impl(self, *args: Any, **kwargs: Any) -> Any:
            call_tracing.on_compile()  # as where Dynamo compiles it, and lets it run as it is
            return super()._call_impl(*args, **kwargs)  # type: ignore[no-untyped-call]

    net = nn.Sequential(Turns())
    watching.watch(net)
    assert is_quick()
    net(X)
    assert is_by_hooks()
    net(X)
    assert_all_closed(spans())
    roots = [span for span in spans("forward") if span.parent is None]
    assert names(roots) == ["Sequential", "Sequential"]
    assert [names(root.children) for root in roots] == [["0"], ["0"]]
    assert [names(root.children[0].children) for root in roots] == [["0.first", "0.second"]] * 2


def test_what_was_compiled_before_a_reset_is_compiled_with_hooks(watching: joulemap.Session, spans: Spans) -> None:
    net = Net(breaks=True)
    for block in net.blocks:
        block.compile(backend="eager")
    torch._dynamo.reset()
    watching.watch(net)
    for _ in range(2):
        net(torch.ones(2, 8)).sum().backward()
    assert is_by_hooks()
    assert_all_closed(spans())
    assert [name for name in names(spans("forward")) if name.count(".") < 2] == [
        "Net",
        "blocks.0",
        "blocks.1",
        "head",
    ] * 2


IMPORTS = """
import joulemap, sys, torch
from joulemap._module_calls import calls, call_tracing
from joulemap._threads import local
from torch import nn
from torch.utils.checkpoint import checkpoint

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        depths.append(local.state.frame.depth)
        if how == "checkpoint":
            x = checkpoint(self.first, x, use_reentrant=False)
        return self.second(x)

how, pytorchs, depths = sys.argv[1], nn.Module._wrapped_call_impl, []
net = Net()
with joulemap.Session(sim="h200", cpu=False) as run:
    run.watch(net)
    assert vars(nn.Module)["__call__"] is calls and "torch._dynamo" not in sys.modules
    net(torch.ones(2, 4))
    if how == "optimizer":
        torch.optim.SGD(net.parameters(), 0.1).zero_grad()
    import torch._dynamo.utils as utils
    from torch._dynamo.variables import nn_module
    assert utils.unpatched_nn_module_call is nn_module.unpatched_nn_module_call is pytorchs
    assert vars(nn.Module)["__call__"] is calls and calls.on
    assert not nn.modules.module._global_forward_hooks
    assert local.state.frame is None
    net(torch.ones(2, 4))
    assert depths == [0, 0]
    compiled = torch.compile(net, backend="eager")
    assert vars(nn.Module)["__call__"] is pytorchs and nn.modules.module._global_forward_hooks
assert vars(nn.Module)["__call__"] is pytorchs
"""


IMPORT_FAILS = """
import joulemap, sys, torch
from joulemap._module_calls import calls
from torch import nn

net = nn.Linear(4, 4)
with joulemap.Session(sim="h200", cpu=False) as run:
    run.watch(net)
    assert vars(nn.Module)["__call__"] is calls and calls.on and "torch._dynamo" not in sys.modules
    sys.modules["torch._dynamo.config"] = None
    try:
        import torch._dynamo
    except ImportError:
        pass
    else:
        raise SystemExit("it was imported")
    assert vars(nn.Module)["__call__"] is calls and calls.on
"""


def test_modules_are_still_heard_of_where_torch_compile_cannot_be_imported(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(IMPORT_FAILS)
    subprocess.run([sys.executable, program], check=True, timeout=100)


@pytest.mark.parametrize(
    "how",
    ["optimizer", pytest.param("checkpoint", marks=pytest.mark.proof), pytest.param("import", marks=pytest.mark.proof)],
)
def test_what_torch_compile_keeps_when_it_is_imported_is_pytorchs_own(how: str) -> None:
    subprocess.run([sys.executable, "-c", IMPORTS, how], check=True)


# ---- what traces a model ----


def exported(net: nn.Module, strict: bool) -> str:
    program = torch.export.export(net, (torch.ones(2, 8),), strict=strict)
    stacks = [str(node.meta.get("nn_module_stack")) for node in program.graph.nodes]
    return "\n".join([program.graph_module.code, *stacks, str(program.graph_signature)])


def jit_traced(net: nn.Module) -> str:
    graph = str(torch.jit.trace(net, torch.ones(2, 8)).inlined_graph)
    return re.sub(r"___torch_mangle_\d+\.", "", graph)  # a number for each trace of a class


def fx_traced(net: nn.Module) -> str:
    return str(torch.fx.symbolic_trace(net).code)


def made_fx(net: nn.Module) -> str:
    return str(make_fx(net)(torch.ones(2, 8)).code)


@pytest.mark.filterwarnings("ignore:`torch.jit.trace")
@pytest.mark.parametrize(
    "trace",
    [fx_traced, made_fx, jit_traced, lambda net: exported(net, False), lambda net: exported(net, True)],
    ids=["fx", "make_fx", "jit", "export", "strict export"],
)
def test_who_traces_a_watched_model_sees_what_he_would_see_otherwise(
    watching: joulemap.Session, trace: Callable[[nn.Module], str], spans: Spans
) -> None:
    torch.manual_seed(0)
    net = Net()
    expected = trace(net)
    torch._dynamo.reset()
    call_tracing.requested = False
    watching.watch(net)
    call_tracing.requested = False  # what was asked for without us counts for nothing here
    call_tracing.apply()
    assert is_quick()
    assert trace(net) == expected
    seen = len(spans("forward"))
    net(torch.ones(2, 8))
    assert len(spans("forward")) == seen + 10
    assert_all_closed(spans())


# ---- other people's patches ----


def test_where_somebody_else_was_first_hooks_are_used_and_theirs_is_asked(
    watching: joulemap.Session, spans: Spans, theirs: Callable[[], list[str]]
) -> None:
    told = theirs()
    patched = in_place()
    net = model()
    watching.watch(net)
    assert in_place() is patched
    assert has_hooks()
    net(X)
    assert told == ["Sequential", "Linear", "ReLU"]
    assert names(spans("forward")) == ["Sequential", "0", "1"]
    watching.unwatch()
    assert in_place() is patched


def test_somebody_elses_patch_around_ours_stays_and_ours_falls_silent(
    watching: joulemap.Session, spans: Spans, theirs: Callable[[], list[str]]
) -> None:
    net = model()
    watching.watch(net)
    told = theirs()
    patched = in_place()
    net(X)
    assert told == ["Sequential", "Linear", "ReLU"]
    assert names(spans("forward")) == ["Sequential", "0", "1"]
    watching.unwatch()
    assert in_place() is patched
    net(X)
    assert len(told) == 6
    assert len(spans("forward")) == 3
    watching.watch(net)  # while ours is inside: hooks, and one span a call
    assert has_hooks()
    assert not calls.on
    net(X)
    assert names(spans("forward")) == ["Sequential", "0", "1"] * 2
    watching.unwatch()
    nn.Module.__call__ = calls  # type: ignore[method-assign]  # they put back what they found
    net(X)
    assert len(spans("forward")) == 6
    watching.watch(net)
    assert is_quick()
    net(X)
    assert names(spans("forward")) == ["Sequential", "0", "1"] * 3
    watching.unwatch()
    assert in_place() is PYTORCHS


# ---- turns ----


def turn(on: bool) -> None:
    tracing.update(_core.TRACING["on" if on else "steps"])


def test_a_class_is_changed_so_often_and_then_left_as_it_is(
    watching: joulemap.Session, spans: Spans, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_module_calls, "_MOST_CHANGES", 6)
    net = model()
    watching.watch(net)
    try:
        away = []
        for _ in range(6):
            turn(on=False)
            away.append(in_place() is PYTORCHS)
            seen = len(spans("forward"))
            net(X)
            assert len(spans("forward")) == seen
            turn(on=True)
            net(X)
            assert names(spans("forward")[seen:]) == ["Sequential", "0", "1"]
    finally:
        turn(on=True)
    assert away == [True] * 3 + [False] * 3
    assert not has_hooks()


def test_a_turn_that_ends_inside_of_a_call_leaves_nothing_open(watching: joulemap.Session, spans: Spans) -> None:
    class Turns(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            turn(on=False)
            return x

    net = nn.Sequential(nn.ReLU(), Turns(), nn.ReLU())
    watching.watch(net)
    try:
        net(X)
        assert names(spans("forward")) == ["Sequential", "0", "1"]
        assert_all_closed(spans())
        turn(on=True)
        net[0](X)
        assert spans("forward")[-1].parent is None
    finally:
        turn(on=True)


def test_compiled_autograd_takes_the_labels_of_all_calls_for_one_function(
    watching: joulemap.Session, spans: Spans
) -> None:
    net = model()
    watching.watch(net)
    autograd: Any = pytest.importorskip("torch._dynamo.compiled_autograd")
    enabled = getattr(autograd, "_enable", None) or autograd.enable  # PyTorch 2.6
    made = []
    for _ in range(4):
        loss = net(X).sum()
        with enabled(torch.compile(backend="eager")):
            loss.backward()
        made.append(graphs())
    assert made[0] > 0
    assert made[-1] == made[1]
    assert names(spans("backward")) == ["Sequential", "1", "0"] * 4
    assert_all_closed(spans())
