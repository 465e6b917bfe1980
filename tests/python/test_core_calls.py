"""The core's callable that stands in the place of a class's `__call__`, on classes of our own: without PyTorch."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joulemap
import pytest
from joulemap import _core

FLAGS = "_forward_pre_hooks_with_kwargs"


class Thread(_core.Thread):
    __slots__ = ()

    def renew(self) -> None:
        self.unwind(0)

    def close_regions(self, depth: int) -> None:
        del self.regions[depth:]


class Local(threading.local):
    def __init__(self) -> None:
        self.state = Thread()


class Frame(_core.Frame):
    __slots__ = ()

    def backward(self, _gradients: Any) -> None:
        self.enter_backward()

    def outside(self, _gradients: Any) -> None:
        self.leave_backward()


class Layer(_core.Layer):
    __slots__ = ("errors", "looks")

    def check_compiled(self) -> None:
        self.looks = True
        self.checked = True

    def cannot_label(self, error: BaseException) -> None:
        self.errors = [*getattr(self, "errors", ()), error]


class Tensor:
    def __init__(self, node: Any = None, base: Any = None) -> None:
        self.grad_fn, self._base = node, base

    def _is_view(self) -> bool:
        return self._base is not None


class Node:
    def __init__(self) -> None:
        self.metadata: dict[str, Any] = {}
        self.hooks: list[Any] = []

    def register_prehook(self, hook: Any) -> None:
        self.hooks.append(hook)


class World:
    """A class of modules, and what its calls are heard of by."""

    def __init__(self) -> None:
        class Module:
            def __init__(self, work: Callable[..., Any]) -> None:
                self.work = work
                setattr(self, FLAGS, {})

            def __call__(self, *args: Any, **kwargs: Any) -> Any:
                return self.work(*args, **kwargs)

        self.module = Module
        self.layers: dict[int, Layer] = {}
        self.local: Any = Local()
        self.task = -1
        self.queued: list[Callable[[], None]] = []
        self.grad = False
        self.calls = _core.Calls(
            wrapped=Module.__call__,
            bind=types.MethodType,
            layers=self.layers,
            local=self.local,
            frame=Frame,
            graph_task=lambda: self.task,
            queue_callback=lambda finish: self.queued.append(finish),
            is_grad_enabled=lambda: self.grad,
            tensor=Tensor,
            parts=lambda value: value.parts if hasattr(value, "parts") else None,
        )
        Module.__call__ = self.calls  # type: ignore[method-assign]
        self.calls.on = True

    def make(self, work: Callable[..., Any]) -> Any:
        """A module that is watched."""
        module = self.module(work)
        flags = getattr(module, FLAGS)
        flags["joulemap"] = True
        layer = self.layers[id(flags)] = Layer()
        layer.name, layer.type = _core.intern("module"), _core.intern("Module")
        layer.active = True
        return module

    def layer(self, module: Any) -> Layer:
        return self.layers[id(getattr(module, FLAGS))]

    def at_work(self) -> Any:
        """The backward pass of this thread."""
        return self.local.state.backward

    def passes(self) -> list[Any]:
        """Those of this thread's forward passes."""
        return list(self.local.state.backwards)

    def depth(self) -> int | None:
        frame = self.local.state.frame
        return None if frame is None else frame.depth


@pytest.fixture
def world() -> World:
    return World()


def frames() -> int:
    gc.collect()
    return sum(type(each) is Frame for each in gc.get_objects())


def test_calls_nest_and_end(world: World) -> None:
    inner = world.make(lambda: world.depth())
    outer = world.make(lambda: (world.depth(), inner(), inner()))
    assert outer() == (0, 1, 1)
    assert world.depth() is None
    assert world.layer(inner).looks
    assert not hasattr(world.layer(outer), "looks")  # it had a span inside
    world.calls.on = False
    assert outer() == (None, None, None)


def test_what_is_not_watched_is_only_called(world: World) -> None:
    assert world.module(lambda x, *, y: (world.depth(), x, y))(1, y=2) == (None, 1, 2)
    with pytest.raises(AttributeError):
        world.calls(3)
    with pytest.raises(TypeError):
        world.calls()


def test_an_exception_goes_through_and_ends_all_inside(world: World) -> None:
    def fail() -> None:
        world.calls.enter(world.layer(outer), (), None)  # by a hook, whose end nobody tells
        raise KeyboardInterrupt("on purpose")

    outer = world.make(lambda: inner())
    inner = world.make(fail)
    with pytest.raises(KeyboardInterrupt, match="on purpose"):
        outer()
    assert world.depth() is None
    assert frames() == 0


def test_an_error_of_our_own_is_told_and_the_call_made(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda args: told.append(args.exc_value))

    def fail(*_: Any) -> None:
        raise RuntimeError("of ours")

    module = world.make(lambda: 5)
    monkeypatch.setattr(Layer, "check_compiled", fail)
    assert module() == 5
    world.calls.generation = 1
    monkeypatch.setattr(Thread, "renew", fail)
    assert module() == 5
    assert [str(error) for error in told] == ["of ours"] * 2
    monkeypatch.setattr(Thread, "renew", lambda *_: sys.exit(3))
    with pytest.raises(SystemExit):
        module()


def test_a_new_turn_ends_what_was_open(world: World) -> None:
    def work() -> int | None:
        world.calls.generation += 1
        return inner()  # type: ignore[no-any-return]

    inner = world.make(world.depth)
    assert world.make(work)() == 0
    assert world.depth() is None


def test_labels_are_where_a_graph_is_made(world: World) -> None:
    given, made, base = Node(), Node(), Node()
    result = [Tensor(made, Tensor(base)), {"same": Tensor(made)}, types.SimpleNamespace(parts=[Tensor(base), None, 3])]
    module = world.make(lambda *_, **__: result)
    module(Tensor(given))
    assert not given.hooks
    world.grad = True
    module((Tensor(), 3, "text"), x=Tensor(given))
    module(Tensor(given))
    assert [[hook.__name__ for hook in node.hooks] for node in (given, made, base)] == [
        ["outside"],
        ["backward"],
        ["backward"],
    ]
    assert made.hooks[0].__self__.layer is world.layer(module)


@pytest.fixture
def labelled(world: World) -> dict[str, Any]:
    """Hooks of the nodes that two modules in one made, and of what that was given."""
    nodes = {name: Node() for name in ("given", "first", "second")}
    first = world.make(lambda _: Tensor(nodes["first"]))
    second = world.make(lambda _: Tensor(nodes["second"]))
    world.grad = True
    world.make(lambda x: second(first(x)))(Tensor(nodes["given"]))
    world.grad = False
    return {name: node.hooks[0] for name, node in nodes.items()}


def test_a_pass_is_in_the_call_whose_node_ran_last(world: World, labelled: dict[str, Any]) -> None:
    world.task = 7
    assert labelled["given"](()) is None
    assert world.at_work() is None  # it has not begun
    for name in ("second", "first"):
        assert labelled[name](()) is None
        now = world.at_work()
        assert (now.task, now.done, now.frame) == (7, False, labelled[name].__self__)
        assert now.frame.depth == 1
    labelled["given"](())
    assert now.frame is None
    assert world.passes() == [now]
    (finish,) = world.queued
    finish()
    assert now.done
    assert (world.at_work(), world.passes()) == (None, [])
    finish()


def test_a_pass_in_a_pass_ends_before_it(world: World, labelled: dict[str, Any]) -> None:
    for world.task in (1, 2):
        labelled["second"](())
    inner = world.at_work()
    assert (inner.task, len(world.passes())) == (2, 2)
    world.queued[1]()
    assert (world.at_work().task, world.at_work().done) == (1, False)
    world.queued[0]()
    assert world.at_work() is None
    labelled["first"](())  # 2 is over, though its number is there still: another one
    assert (world.at_work().task, world.at_work() is inner) == (2, False)
    world.task = 3
    labelled["first"](())
    world.queued[3]()
    world.queued[2]()
    assert (world.at_work(), world.passes()) == (None, [])


def test_a_pass_that_the_engine_lets_go_of_is_over(world: World, labelled: dict[str, Any]) -> None:
    world.task = 1
    labelled["second"](())
    failed = world.at_work()
    world.task = 2
    labelled["first"](())
    world.queued.pop()  # an exception: nobody calls
    assert world.at_work() is failed
    try:
        raise ValueError("the program's")
    except ValueError as error:
        world.queued.clear()
        assert str(error) == "the program's"
    assert (world.at_work(), world.passes(), failed.done) == (None, [], True)


def test_calls_meanwhile_leave_a_pass_of_another_thread_alone(world: World, labelled: dict[str, Any]) -> None:
    begun, over = threading.Event(), threading.Event()

    def work() -> None:
        world.task = 1
        labelled["second"](())
        world.task = -1
        begun.set()
        over.wait()

    thread = threading.Thread(target=work)
    thread.start()
    begun.wait()
    world.make(lambda: None)()
    assert [(each.task, each.done) for each in world.passes()] == [(1, False)]
    over.set()
    thread.join()
    world.queued[0]()
    assert world.passes() == []


def test_a_pass_on_another_thread_is_of_that_one(world: World, labelled: dict[str, Any]) -> None:
    world.task = 5
    seen: list[Any] = []

    def work() -> None:
        labelled["second"](())
        seen.append(world.at_work().frame)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [labelled["second"].__self__]
    assert world.at_work() is None
    assert len(world.passes()) == 1  # its forward ran here, so an exception here ends it
    world.passes()[0].finish()
    assert world.passes() == []


def test_labels_of_nobody_or_of_steps_that_are_not_traced_do_nothing(world: World, labelled: dict[str, Any]) -> None:
    world.task = 1
    world.calls.traced = False
    labelled["second"](())
    world.calls.traced = True
    for layer in world.layers.values():
        layer.active = False
    labelled["first"](())
    assert (world.at_work(), world.queued) == (None, [])


def test_a_label_that_fails_fails_no_program(
    world: World, labelled: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda args: told.append(args.exc_value))
    world.task = 1

    class Refusing(list[Any]):
        def append(self, _: Any) -> None:
            raise RuntimeError("no pass is at work")

    world.queued = Refusing()
    assert labelled["second"](()) is None
    assert [str(error) for error in told] == ["no pass is at work"]
    assert (world.at_work(), world.passes()) == (None, [])


def test_passes_that_nobody_ended_are_collected(world: World, labelled: dict[str, Any]) -> None:
    world.task = 1
    labelled["second"](())
    world.queued.clear()
    labelled.clear()
    world.local.state = Thread()
    assert frames() == 0


def test_what_cannot_be_labelled_is_told(world: World) -> None:
    world.grad = True
    module = world.make(lambda x: x)
    wrong = Tensor(3)
    assert module(wrong) is wrong
    assert [type(error) for error in world.layer(module).errors] == [AttributeError] * 2


@pytest.mark.parametrize("metadata", [None, types.MappingProxyType({}), [], 3])
def test_a_node_of_another_kind_is_told(world: World, metadata: Any) -> None:
    world.grad = True
    module = world.make(lambda x: x)
    node = Node()
    node.metadata = metadata
    module(Tensor(node))
    assert [type(error) for error in world.layer(module).errors] == [TypeError] * 2
    assert node.hooks == []


def test_frames_of_a_thread_that_is_gone_are_collected(world: World) -> None:
    module = world.make(int)
    thread = threading.Thread(target=lambda: world.calls.enter(world.layer(module), (), None))
    thread.start()
    thread.join()
    assert frames() == 0
    state = world.local.state
    world.calls.enter(world.layer(module), (), None)
    assert state.frame.home is state
    world.local.state = Thread()
    del state
    assert frames() == 0


def test_a_hook_that_has_nothing_to_end_ends_nothing(world: World) -> None:
    module, other = world.make(int), world.make(int)
    world.calls.leave(world.layer(module), None)
    world.calls.enter(world.layer(module), (), None)
    world.calls.leave(world.layer(other), None)
    assert world.depth() == 0
    world.calls.leave(world.layer(module), None)
    assert world.depth() is None


def test_wrong_arguments_are_named(world: World) -> None:
    layer = Layer()
    for wrong in (
        lambda: world.calls.enter(3, (), None),  # type: ignore[arg-type]
        lambda: world.calls.enter(layer, 3, None),  # type: ignore[arg-type]
        lambda: world.calls.leave(3, None),  # type: ignore[arg-type]
        lambda: _core.Calls(),  # type: ignore[call-arg]
        lambda: Thread().unwind("deep"),  # type: ignore[arg-type]
        lambda: _core.Backward(),
    ):
        with pytest.raises(TypeError):
            wrong()


def test_what_is_wrong_with_us_fails_no_program(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda args: told.append(str(args.exc_value)))
    layer = world.layer(world.make(int))
    world.local.state = 3
    world.calls.enter(layer, (), None)
    world.calls.leave(layer, None)
    assert len(told) == 2
    assert all("is not a joulemap" in text for text in told)


def test_a_frame_that_no_call_made_is_of_no_pass(world: World) -> None:
    world.task = 1
    Frame().backward(())
    Frame().outside(())
    assert world.at_work() is None


def test_a_long_row_of_passes_that_nobody_ended_goes_at_once(world: World, labelled: dict[str, Any]) -> None:
    for world.task in range(100_000):
        labelled["second"](())
    assert len(world.passes()) == 100_000
    world.queued.clear()
    world.local.state = Thread()
    labelled.clear()
    assert frames() == 0


# What it takes, in another interpreter.
IN_ANOTHER = """
import threading, types
from joulemap import _core

class Module:
    def __init__(self):
        self._forward_pre_hooks_with_kwargs = {"joulemap": True}
    def __call__(self):
        return local.state.frame.depth

class Layer(_core.Layer):
    def check_compiled(self):
        self.checked = True

local = threading.local()
local.state = _core.Thread()
layer, module, layers = Layer(), Module(), {}
layers[id(module._forward_pre_hooks_with_kwargs)] = layer
calls = _core.Calls(Module.__call__, types.MethodType, layers, local, _core.Frame, lambda: -1, print, bool, str, list)
Module.__call__ = calls
calls.on = True
assert [module(), module()] == [0, 0]
"""


def test_each_interpreter_has_its_own(tmp_path: Path) -> None:
    """In a process of its own: one that has had a second interpreter cannot tell who holds the GIL any more."""
    pytest.importorskip("_xxsubinterpreters")  # Python 3.11
    path = str(Path(joulemap.__file__).parents[1])
    program = tmp_path / "program.py"
    program.write_text(
        f"""
import sys
import _xxsubinterpreters as interpreters

sys.path.insert(0, {path!r})
one = {IN_ANOTHER!r}
exec(one)
for _ in range(2):
    number = interpreters.create()
    interpreters.run_string(number, "import sys; sys.path.insert(0, " + repr({path!r}) + ")\\n" + one)
    interpreters.destroy(number)
exec(one)
print("ended well")
"""
    )
    done = subprocess.run([sys.executable, program], check=False, capture_output=True, text=True, timeout=60)
    assert done.stdout == "ended well\n", done.stderr
