"""Modules of a PyTorch model as layers: which module each stretch of forward and backward belongs to.

Forward: a pre-hook and a hook open and close a span. They are hooks of all modules of the process, which look
the called one up: a hook in a module's own state would be copied, pickled and scripted with it, and
`torch.cuda.make_graphed_callables` would refuse the module. A forward that runs inside a backward pass is
activation checkpointing at work, and gets the kind "recompute".

Backward: no `full_backward_hook`, which would put nodes into the graph and forbid in-place operations on a
module's output. Instead the autograd nodes are labelled while the graph grows: the node that made a
module's output belongs to the module, the node that made its input belongs to the container around it.
The engine runs nodes in reverse order of their making, so a labelled node that fires means that from here
on its module's backward runs, until the next label. Children leave before their container, so the
first label of a node, which stays, is the innermost one.
"""

from __future__ import annotations

import os
import threading
import warnings
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import torch
from torch import nn
from torch.nn.modules import module as _all_modules
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from joulemap import _arguments, _compiled, _core, _labels
from joulemap._describe import describe
from joulemap._dynamo import Compiling, Uncompiled, leave_alone, leave_methods_alone
from joulemap._generation import Generation
from joulemap._labels import label
from joulemap._loaders import Loaders
from joulemap._threads import ThreadState, local
from joulemap._tracing import tracing as _tracing

if TYPE_CHECKING:
    from joulemap.isolation.result import IsolatedLayers

_FORWARD = _core.SPAN_KINDS["forward"]
_BACKWARD = _core.SPAN_KINDS["backward"]
_RECOMPUTE = _core.SPAN_KINDS["recompute"]
_OPTIMIZER = _core.SPAN_KINDS["optimizer"]

# Key of the pre-hook of all modules. A watched module has it in `_forward_pre_hooks_with_kwargs` too, which is how it
# asks for keyword arguments; a text, as no number of another hook is, so in a saved module it means nothing.
_KEY = "joulemap"
_FLAGS = "_forward_pre_hooks_with_kwargs"
_GLOBAL_HOOKS = r"Using `torch\.compile\(module\)` when there are global hooks"
_COMPILED = "torch.compile: "  # begins the name of a mark: src/attribute/verdict/no_layer.h

_MOST = 1e9  # of any number that is given

_span_begin = _core.span_begin
_span_end = _core.span_end
_graph_task = torch._C._current_graph_task_id
_is_grad_enabled = torch.is_grad_enabled
_is_compiling = torch.compiler.is_dynamo_compiling if hasattr(torch.compiler, "is_dynamo_compiling") else bool
_queue_callback = torch.autograd.Variable._execution_engine.queue_callback

State: TypeAlias = "ThreadState[Frame, Backward]"


class Backward:
    """One thread's part of one backward pass: the chain of module spans now open."""

    __slots__ = ("done", "frame", "home", "opened", "previous", "regions", "state", "task")
    done: bool

    def __init__(self, task: int, state: State, home: State) -> None:
        self.task = task
        self.state = state  # of the thread that runs the nodes
        self.home = home  # of the thread that ran the forward pass
        self.previous = state.backward if state.backward is not None and not state.backward.done else None
        self.frame: Frame | None = None
        self.opened: list[tuple[Frame, int]] = []  # outermost first; place = depth of the frame
        self.regions = len(state.regions)  # that are around it
        self.done = False
        state.backward = self
        home.backwards.append(self)

    def switch(self, target: Frame | None) -> None:
        """End the spans that `target` is not inside of, and open those around it."""
        opened = self.opened
        missing = []
        frame = target
        while frame is not None and (frame.depth >= len(opened) or opened[frame.depth][0] is not frame):
            missing.append(frame)
            frame = frame.parent
        keep = 0 if frame is None else frame.depth + 1
        while len(opened) > keep:
            _span_end(opened.pop()[1])
        for frame in reversed(missing):
            opened.append((frame, _span_begin(_BACKWARD, frame.layer.name, frame.layer.type)))
        self.frame = target

    def finish(self) -> None:
        """Close all; called by the engine, perhaps on another thread, when the pass is over."""
        if self.done:
            return
        self.done = True
        self.state.close_regions(self.regions)
        self.switch(None)
        if self.state.backward is self:
            self.state.backward = self.previous
        if self in self.home.backwards:
            self.home.backwards.remove(self)


class Frame:
    """One call of a watched module."""

    __slots__ = ("depth", "home", "layer", "parent", "regions", "seen", "span")
    depth: int

    def __init__(self, layer: Layer, parent: Frame | None, home: State) -> None:
        self.layer = layer
        self.parent = parent
        self.depth = 0 if parent is None else parent.depth + 1
        self.home = home
        self.span = 0
        self.regions = len(home.regions)  # that are around it: an operation in compiled code may call modules
        self.seen = False  # work inside of it has had spans
        if parent is not None:
            parent.seen = True

    def backward(self, _gradients: Any) -> None:
        """Prehook of an autograd node: from here on this call's backward runs."""
        if self.layer.watch.active and _tracing.on:
            _enter_backward(self.home, self)

    def outside(self, _gradients: Any) -> None:
        """Prehook of a node that ran before this outermost call: no module's backward runs."""
        if self.layer.watch.active and _tracing.on:
            _enter_backward(self.home, None)


def _enter_backward(home: State, frame: Frame | None) -> None:
    state: State = local.state
    task = _graph_task()
    backward = state.backward
    if backward is None or backward.done or backward.task != task:
        if frame is None:
            return
        backward = Backward(task, state, home)
        _queue_callback(backward.finish)
    if backward.frame is not frame:
        backward.switch(frame)


class Layer:
    """A watched module: what happens when it is called."""

    __slots__ = ("_flags", "inner", "looked", "module", "name", "path", "type", "watch")

    def __init__(self, watch: Watch, module: nn.Module, path: str, type_text: str) -> None:
        self.watch = watch
        self.module = weakref.ref(module)
        self.path = path
        self.name = _core.intern(path)
        self.type = _core.intern(type_text)
        self.looked = False  # whether it is compiled, after a call without spans inside
        self.inner: Layer | None = None  # of what torch.compile made of a watched module: that module
        flags = module.__dict__[_FLAGS]
        key = id(flags)
        forget = _layers.pop  # at the interpreter's end the module's names go before it is called
        self._flags = weakref.ref(flags, lambda _: forget(key, None))
        flags[_KEY] = True
        _layers[key] = self

    def forget(self) -> None:
        """Take away what marks the module as watched."""
        flags = self._flags()
        if flags is not None:
            flags.pop(_KEY, None)
            _layers.pop(id(flags), None)

    def held(self) -> nn.Module | None:
        """Return the module itself, not what torch.compile made of it."""
        module = self.module()
        return None if module is None else cast(nn.Module, getattr(module, "_orig_mod", module))

    def enter(self, args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> None:
        """Before forward."""
        if not self.watch.active:
            return
        state: State = local.state
        if state.turn != _tracing.turn:
            state.renew()
        frames = state.frames
        task = _graph_task()
        parent = frames[-1] if frames else None
        if parent is None:
            if task == -1 and state.backwards:
                state.finish_backwards()
        elif parent.layer.inner is self:
            return  # compiled, but run as it is: the call around it stands for it
        frame = Frame(self, parent, state)
        if _is_grad_enabled():
            hook = frame.outside if parent is None else parent.backward
            self.watch.label(args, hook)
            if kwargs:
                self.watch.label(kwargs, hook)
        frames.append(frame)
        frame.span = _span_begin(_FORWARD if task == -1 else _RECOMPUTE, self.name, self.type)

    def leave(self, output: Any) -> None:
        """After forward; also, with None, when it raised."""
        state: State = local.state
        frames = state.frames
        if not frames:
            return
        frame = frames[-1]
        if frame.layer is not self:  # calls inside ended without telling
            for frame in reversed(frames):
                if frame.layer is self:
                    break
            else:
                return
            state.unwind(frame.depth + 1)
        state.close_regions(frame.regions)
        frames.pop()
        _span_end(frame.span)
        if not (frame.seen or self.looked):
            self._look_at_compiled()
        if output is not None and self.watch.active and _is_grad_enabled():
            self.watch.label(output, frame.backward)

    def _look_at_compiled(self) -> None:
        """Note a compiled module that ran without a span inside: there was no record of what its code came from."""
        self.looked = True
        module = self.module()
        if module is not None and (_is_compiled(module) or getattr(module, "_compiled_call_impl", None) is not None):
            self.watch.tell(self.path)


# By the id of its flags, not of the module: replicas that nn.DataParallel makes have a module's own.
_layers: dict[int, Layer] = {}


def _layer_of(module: nn.Module) -> Layer | None:
    return _layers.get(id(module.__dict__.get(_FLAGS)))


def _enter(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> None:
    """Forward pre-hook of all modules. Only one that is watched, or a copy of it, gives its keyword arguments."""
    if _is_compiling() or not _tracing.on:  # in this order: code that is compiled must not depend on the second
        return
    layer = None
    if kwargs is not None:
        layer = _layer_of(module)
    elif _is_compiled(module):
        inner = _layer_of(cast(nn.Module, module._orig_mod))
        layer = None if inner is None else inner.watch.add_compiled(module, inner)
    if layer is not None:
        layer.enter(args, kwargs)


def _leave(module: nn.Module, _args: Any, output: Any) -> None:
    """Forward hook of all modules, also called when forward raised."""
    if _is_compiling() or not _tracing.on:
        return
    layer = _layer_of(module)
    if layer is not None:
        layer.leave(output)


def _is_compiled(module: nn.Module) -> bool:
    """Is it what `torch.compile(module)` gives? By name: its class comes with a package that loads for a second."""
    return type(module).__name__ == "OptimizedModule"


class Watch:
    """The layers of one model; `remove()` takes them away."""

    def __init__(self, model: nn.Module, root: str, prefix: str, find_steps: bool) -> None:
        self.active = True
        self._root = root
        self._prefix = prefix
        self._layers: list[Layer] = []
        self.by_path: dict[str, Layer] = {}
        self._warned = False
        self._told: set[str] = set()  # paths of modules that are compiled
        for path, module in model.named_modules():
            parts = path.split(".")
            if parts[-1] == "_orig_mod":
                continue  # torch.compile's inner module: the outer one speaks for it
            if isinstance(module, torch.jit.ScriptModule):
                continue  # calls no hooks: its work is that of the module around it
            if _layer_of(module) is not None:
                continue  # watched already
            path = ".".join(part for part in parts if part != "_orig_mod")
            named = getattr(module, "_orig_mod", module) if _is_compiled(module) else module
            layer = Layer(self, module, prefix + path if path else root, describe(named))
            self._layers.append(layer)
            self.by_path[layer.path] = layer
        self.root = self.by_path.get(root)
        self._uncompiled = Uncompiled(type(layer.module()) for layer in self._layers)
        _watched.acquire()
        _compiled.begin(self)
        self._finders: list[Loaders | Generation] = [Loaders(), Generation(model)] if find_steps else []

    def __len__(self) -> int:
        """Return the number of watched modules."""
        return len(self._layers)

    def __repr__(self) -> str:
        state = f"{len(self)} layers" if self.active else "removed"
        return f"<joulemap.torch.Watch {self._root!r}: {state}>"

    def path_in(self, layer: Layer, path: str) -> str:
        """Return the path of what is called `path` inside of a layer."""
        return f"{self._prefix if layer.path == self._root else layer.path + '.'}{path}"

    def add_compiled(self, outer: nn.Module, inner: Layer) -> Layer:
        """Let what torch.compile made of a watched module speak for it."""
        layer = Layer(self, outer, inner.path, describe(cast(nn.Module, inner.module())))
        layer.inner = inner
        self._layers.append(layer)
        return layer

    def tell(self, path: str) -> None:
        """Note a module that is compiled: of what it holds reports have no rows."""
        inside = any(path == told or path.startswith(f"{told}.") for told in self._told)
        if not inside:
            self._told.add(path)
            _core.mark(_COMPILED + path, None)

    def label(self, value: Any, hook: Any) -> None:
        """Label the autograd nodes of all tensors in `value`; never fails the program."""
        try:
            label(value, hook)
        except Exception as error:
            if not self._warned:
                self._warned = True
                warnings.warn(
                    f"joulemap cannot label the backward pass of this model "
                    f"({type(error).__name__}: {error}); its backward joules may stand at the wrong layer",
                    RuntimeWarning,
                    stacklevel=2,
                )

    def remove(self) -> None:
        """Take all layers away. Labels that live on in an old graph do nothing any more."""
        if not self.active:
            return
        self.active = False
        _compiled.end(self)
        self._uncompiled.end()
        for layer in self._layers:
            layer.forget()
        self._layers.clear()
        for finder in self._finders:
            finder.remove()
        self._finders.clear()
        _watched.release()


def watch(model: nn.Module, name: str | None = None, *, find_steps: bool = True) -> Watch:
    """Make layers of all modules of `model`; `Session.watch` is the way to it.

    Raises
    ------
    TypeError
        If `model` is no `torch.nn.Module`, or `name` no text.
    """
    if not isinstance(model, nn.Module):
        raise TypeError(f"watch() takes a torch.nn.Module, not a {type(model).__name__}")
    if name is not None:
        _arguments.text("the name of a model", name)
    root = name or type(getattr(model, "_orig_mod", model)).__name__
    taken = _watched.model_names
    first = not taken
    if root in taken:
        root = next(f"{root}_{i}" for i in range(2, len(taken) + 3) if f"{root}_{i}" not in taken)
    taken.append(root)
    return Watch(model, root, "" if first and name is None else f"{root}.", find_steps)


def is_watched(model: nn.Module) -> bool:
    """Tell whether a model is watched already."""
    return _layer_of(model) is not None


def isolate(
    model: nn.Module,
    inputs: Any,
    *,
    layers: Sequence[str] | None = None,
    backward: bool = False,
    seconds: float = 60.0,
    precision: float = 0.02,
    clock_mhz: float | None = None,
    progress: bool = True,
    seed: int = 0,
) -> IsolatedLayers:
    """Measure layers of a model alone: the energy of a call, from the GPU's total over bursts with gaps.

    One forward pass shows what each layer is given: values, layout, dtype, requires_grad, autocast. Then each layer
    is called with that, in bursts that no launch interrupts (CUDA graphs, where one can hold it), in several settings
    of bursts and gaps that keep the GPU below its power limit. Least squares over these settings (calls x e + gap time
    x P_gap + bursts x e_edge) give e. The model is left as it was: weights, buffers, gradients, modes, random states.

    Parameters
    ----------
    model : torch.nn.Module
        On one GPU, in the mode that is wanted (`train()`, `eval()`).
    inputs : tensor, tuple, list, mapping or callable
        Of one forward pass: ``model(inputs)``, ``model(*inputs)``, ``model(**inputs)``; a callable makes the pass
        itself and returns a loss or an output. Gradients and autocast are as they are around this call.
    layers : list of str, optional
        Paths of modules, or patterns (``"blocks.*.attn"``); the top-level blocks without it.
    backward : bool
        Also the backward pass of each layer: forward and backward together, less forward.
    seconds : float
        Of bursts, all layers together. Each has two rounds in any case, 2.5 s or more.
    precision : float
        Half of a 95 % interval, as a share of the energy, at which a layer is known well enough.
    clock_mhz : float, optional
        Mean SM clock of the live run (`report.quality.clock_mhz`): gaps are made shorter or longer until the layer
        runs at it, within 1 %.
    progress : bool
        Show it on stderr, if that is a terminal.
    seed : int
        Of the order of layers and settings.

    Returns
    -------
    IsolatedLayers
        A row a layer and direction; `left_out` says why others have none.

    Raises
    ------
    TypeError, ValueError
        If an argument is none of the above.
    RuntimeError
        If the GPU is not recorded, or tells no energy.

    Examples
    --------
    >>> print(joulemap.torch.isolate(model, x, layers=["blocks.*.mlp"]).table())  # doctest: +SKIP
    """
    if not isinstance(model, nn.Module):
        raise TypeError(f"isolate() takes a torch.nn.Module, not a {type(model).__name__}")
    _arguments.real("seconds", seconds, 0, _MOST)
    _arguments.real("precision", precision, 0, _MOST)
    if clock_mhz is not None:
        _arguments.real("clock_mhz", clock_mhz, 0, _MOST)
    _arguments.flag("backward", backward)
    _arguments.flag("progress", progress)
    _arguments.whole("seed", seed)
    from joulemap.isolation import layers as isolation

    return isolation.isolate(
        model,
        inputs,
        layers=layers,
        backward=backward,
        seconds=seconds,
        precision=precision,
        clock_mhz=clock_mhz,
        progress=progress,
        seed=seed,
    )


def _put_hooks() -> None:
    # Keys of our own, the same each time: compiled code is guarded by them.
    _all_modules._global_forward_hooks[_KEY] = _leave  # type: ignore[index]
    _all_modules._global_forward_hooks_always_called[_KEY] = True  # type: ignore[index]
    _all_modules._global_forward_pre_hooks[_KEY] = _enter  # type: ignore[index]


def _take_hooks() -> None:
    _all_modules._global_forward_pre_hooks.pop(_KEY, None)  # type: ignore[call-overload]
    _all_modules._global_forward_hooks.pop(_KEY, None)  # type: ignore[call-overload]
    _all_modules._global_forward_hooks_always_called.pop(_KEY, None)  # type: ignore[call-overload]


class _Watched:
    """What all watches of the process share while there is one: names of models, hooks of modules and optimizers."""

    def __init__(self) -> None:
        self.model_names: list[str] = []
        self.lock = threading.RLock()
        self._watches = 0
        self._handles: list[Any] = []
        self._filter: Any = None
        self._compiling: Compiling | None = None
        self._compiled = False  # something, while there was a watch
        self._open: dict[int, int] = {}  # id of the optimizer -> its span

    def acquire(self) -> None:
        with self.lock:
            self._watches += 1
            if self._watches == 1:
                self._handles = [
                    register_optimizer_step_pre_hook(self._enter),
                    register_optimizer_step_post_hook(self._leave),
                ]
                self._show(_tracing.on)
                self._compiling = Compiling(self._compiles)
                # The second call of which it warns is the one by which a compiled module is known: add_compiled.
                warnings.filterwarnings("ignore", _GLOBAL_HOOKS, UserWarning)
                self._filter = warnings.filters[0]

    def release(self) -> None:
        with self.lock:
            self._watches -= 1
            if self._watches == 0:
                for handle in self._handles:
                    handle.remove()
                self._handles.clear()
                if self._compiling is not None:
                    self._compiling.end()
                _take_hooks()
                if self._filter in warnings.filters:
                    cast(list[Any], warnings.filters).remove(self._filter)
                self.model_names.clear()
                for span in self._open.values():
                    _span_end(span)
                self._open.clear()

    def show(self, traced: bool) -> None:
        """Have hooks in traced steps, and none in others: PyTorch calls modules a quicker way then."""
        if not traced:
            local.state.renew()
        with self.lock:
            if self._watches > 0:
                self._show(traced)

    def _show(self, traced: bool) -> None:
        if traced or self._compiled:
            _put_hooks()
        else:
            _take_hooks()

    def _compiles(self) -> None:
        """Keep the hooks from now on: code that is compiled is guarded by those it was compiled with."""
        self._compiled = True
        _put_hooks()

    def _enter(self, optimizer: torch.optim.Optimizer, _args: Any, _kwargs: Any) -> None:
        if _is_compiling() or not _tracing.on:
            return
        self._leave(optimizer, None, None)  # a step that raised left its span open
        name = _core.intern(type(optimizer).__name__)
        self._open[id(optimizer)] = _span_begin(_OPTIMIZER, name, name)

    def _leave(self, optimizer: torch.optim.Optimizer, _args: Any, _kwargs: Any) -> None:
        if not _is_compiling():
            _span_end(self._open.pop(id(optimizer), 0))


_watched = _Watched()
_tracing.follow(_watched.show)
os.register_at_fork(
    before=_watched.lock.acquire, after_in_parent=_watched.lock.release, after_in_child=_watched.lock.release
)

leave_methods_alone(Backward, Frame, Layer, Watch, _Watched, ThreadState, _compiled.Region)
for _function in (_enter_backward, _layer_of, _enter, _leave, _is_compiled, ThreadState.renew, *_labels.FUNCTIONS):
    leave_alone(_function)
