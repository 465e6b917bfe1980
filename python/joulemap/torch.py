"""Modules of a PyTorch model as layers: which module each stretch of forward and backward belongs to.

Forward: a pre-hook and a hook on every module open and close a span. A forward that runs inside a
backward pass is activation checkpointing at work, and gets the kind "recompute".

Backward: no `full_backward_hook`, which would put nodes into the graph and forbid in-place operations on a
module's output. Instead the autograd nodes are labelled while the graph grows: the node that made a
module's output belongs to the module, the node that made its input belongs to the container around it.
The engine runs nodes in reverse order of their making, so a labelled node that fires means that from here
on its module's backward runs, until the next label. Children leave before their container, so the
first label of a node, which stays, is the innermost one.
"""

from __future__ import annotations

import dataclasses
import threading
import warnings
from collections.abc import Mapping
from typing import Any, TypeAlias, cast

import torch
from torch import nn
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from joulemap import _arguments, _core
from joulemap._threads import ThreadState, local

_FORWARD = _core.SPAN_KINDS["forward"]
_BACKWARD = _core.SPAN_KINDS["backward"]
_RECOMPUTE = _core.SPAN_KINDS["recompute"]
_OPTIMIZER = _core.SPAN_KINDS["optimizer"]

_LABEL = "joulemap"
_MAX_NESTING = 6  # of tuples, dicts and dataclasses around a module's tensors

_span_begin = _core.span_begin
_span_end = _core.span_end
_graph_task = torch._C._current_graph_task_id
_is_grad_enabled = torch.is_grad_enabled
_is_compiling = torch.compiler.is_dynamo_compiling if hasattr(torch.compiler, "is_dynamo_compiling") else bool
_queue_callback = torch.autograd.Variable._execution_engine.queue_callback

State: TypeAlias = "ThreadState[Frame, Backward]"


class Backward:
    """One thread's part of one backward pass: the chain of module spans now open."""

    __slots__ = ("done", "frame", "home", "opened", "previous", "state", "task")
    done: bool

    def __init__(self, task: int, state: State, home: State) -> None:
        self.task = task
        self.state = state  # of the thread that runs the nodes
        self.home = home  # of the thread that ran the forward pass
        self.previous = state.backward if state.backward is not None and not state.backward.done else None
        self.frame: Frame | None = None
        self.opened: list[tuple[Frame, int]] = []  # outermost first; place = depth of the frame
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
        self.switch(None)
        if self.state.backward is self:
            self.state.backward = self.previous
        if self in self.home.backwards:
            self.home.backwards.remove(self)


class Frame:
    """One call of a watched module."""

    __slots__ = ("depth", "home", "layer", "parent", "span")
    depth: int

    def __init__(self, layer: Layer, parent: Frame | None, home: State) -> None:
        self.layer = layer
        self.parent = parent
        self.depth = 0 if parent is None else parent.depth + 1
        self.home = home
        self.span = 0

    def backward(self, _gradients: Any) -> None:
        """Prehook of an autograd node: from here on this call's backward runs."""
        if self.layer.watch.active:
            _enter_backward(self.home, self)

    def outside(self, _gradients: Any) -> None:
        """Prehook of a node that ran before this outermost call: no module's backward runs."""
        if self.layer.watch.active:
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
    """A watched module: its two forward hooks."""

    __slots__ = ("handles", "name", "type", "watch")

    def __init__(self, watch: Watch, name: str, type_text: str) -> None:
        self.watch = watch
        self.name = _core.intern(name)
        self.type = _core.intern(type_text)
        self.handles: list[Any] = []

    def enter(self, _module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Forward pre-hook."""
        if _is_compiling() or not self.watch.active:
            return
        state: State = local.state
        frames = state.frames
        task = _graph_task()
        parent = frames[-1] if frames else None
        if parent is None and task == -1 and state.backwards:
            state.finish_backwards()
        frame = Frame(self, parent, state)
        if _is_grad_enabled():
            hook = frame.outside if parent is None else parent.backward
            self.watch.label(args, hook)
            if kwargs:
                self.watch.label(kwargs, hook)
        frames.append(frame)
        frame.span = _span_begin(_FORWARD if task == -1 else _RECOMPUTE, self.name, self.type)

    def leave(self, _module: nn.Module, _args: Any, _kwargs: Any, output: Any) -> None:
        """Forward hook; also called, with None, when forward raised."""
        if _is_compiling():
            return
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
        frames.pop()
        _span_end(frame.span)
        if output is not None and self.watch.active and _is_grad_enabled():
            self.watch.label(output, frame.backward)

    def __deepcopy__(self, _memo: Any) -> Layer:
        """Let copies of a watched model (moving averages, replicas) report as the same layer."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Let a model that is saved whole while watched load without the watch."""
        return Unwatched, ()


class Unwatched:
    """What the hooks of a model saved while watched become: they do nothing."""

    def enter(self, *_: Any) -> None:
        """Do nothing."""

    def leave(self, *_: Any) -> None:
        """Do nothing."""


class Watch:
    """The hooks on one model; `remove()` takes them away."""

    def __init__(self, model: nn.Module, root: str, prefix: str) -> None:
        self.active = True
        self._layers: list[Layer] = []
        self._warned = False
        for path, module in model.named_modules():
            path = path.removeprefix("_orig_mod").removeprefix(".")
            if not path and module is not model:
                continue  # torch.compile's inner module: the outer one speaks for it
            if isinstance(module, torch.jit.ScriptModule):
                continue  # takes no hooks: its work is that of the module around it
            if any(isinstance(getattr(hook, "__self__", None), Layer) for hook in module._forward_hooks.values()):
                continue  # watched already
            named = module if module is not model else getattr(model, "_orig_mod", model)
            layer = Layer(self, prefix + path if path else root, describe(named))
            layer.handles.append(module.register_forward_pre_hook(layer.enter, with_kwargs=True, prepend=True))
            layer.handles.append(module.register_forward_hook(layer.leave, with_kwargs=True, always_call=True))
            self._layers.append(layer)
        _watched.acquire()

    def __len__(self) -> int:
        """Return the number of watched modules."""
        return len(self._layers)

    def label(self, value: Any, hook: Any) -> None:
        """Label the autograd nodes of all tensors in `value`; never fails the program."""
        try:
            _label(value, hook, _MAX_NESTING)
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
        """Take all hooks away. Labels that live on in an old graph do nothing any more."""
        if not self.active:
            return
        self.active = False
        for layer in self._layers:
            for handle in layer.handles:
                handle.remove()
            layer.handles.clear()
        self._layers.clear()
        _watched.release()


def _label_node(node: torch.autograd.graph.Node, hook: Any) -> None:
    metadata: dict[Any, Any] = node.metadata  # type: ignore[assignment]
    if _LABEL not in metadata:
        metadata[_LABEL] = True
        node.register_prehook(hook)


def _label(value: Any, hook: Any, nesting: int) -> None:
    if isinstance(value, torch.Tensor):
        node = value.grad_fn
        if node is not None:
            _label_node(node, hook)
            if value._is_view():  # an in-place operation that follows would put its own node in place of this one
                node = cast(torch.Tensor, value._base).grad_fn
                if node is not None:
                    _label_node(node, hook)
    elif nesting == 0 or value is None or isinstance(value, str | int | float):
        return
    elif isinstance(value, tuple | list):
        for item in value:
            _label(item, hook, nesting - 1)
    elif isinstance(value, Mapping):
        for item in value.values():
            _label(item, hook, nesting - 1)
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            _label(getattr(value, field.name, None), hook, nesting - 1)


def watch(model: nn.Module, name: str | None = None) -> Watch:
    """Put hooks on all modules of `model`; `Session.watch` is the way to it.

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
    return Watch(model, root, "" if first and name is None else f"{root}.")


def describe(module: nn.Module) -> str:
    """Return a module's class of work: its class, and the sizes that decide what a call costs.

    >>> describe(nn.Linear(768, 3072))
    'Linear(768, 3072)'
    >>> describe(nn.Conv2d(64, 128, 3))
    'Conv2d(64, 128, 3x3)'
    """
    cls = type(module).__name__
    sizes: list[str]
    if isinstance(module, nn.modules.conv._ConvNd):
        sizes = [str(module.in_channels), str(module.out_channels), "x".join(map(str, module.kernel_size))]
        if any(stride != 1 for stride in module.stride):
            sizes.append("stride " + "x".join(map(str, module.stride)))
        if module.groups != 1:
            sizes.append(f"groups {module.groups}")
    elif isinstance(module, nn.Linear):
        sizes = [str(module.in_features), str(module.out_features)]
    elif isinstance(module, nn.MultiheadAttention):
        sizes = [str(module.embed_dim), f"{module.num_heads} heads"]
    elif isinstance(module, nn.modules.batchnorm._NormBase):
        sizes = [str(module.num_features)]
    elif isinstance(module, nn.LayerNorm):
        sizes = ["x".join(map(str, module.normalized_shape))]
    else:  # those of its own weight, without its children's
        weight = module._parameters.get("weight")
        sizes = [] if weight is None else [str(size) for size in weight.shape]
    return f"{cls}({', '.join(sizes)})" if sizes else cls


class _Watched:
    """What all watches of the process share while there is one: their models' names, hooks on all optimizers."""

    def __init__(self) -> None:
        self.model_names: list[str] = []
        self._lock = threading.Lock()
        self._watches = 0
        self._handles: list[Any] = []
        self._open: dict[int, int] = {}  # id of the optimizer -> its span

    def acquire(self) -> None:
        with self._lock:
            self._watches += 1
            if self._watches == 1:
                self._handles = [
                    register_optimizer_step_pre_hook(self._enter),
                    register_optimizer_step_post_hook(self._leave),
                ]

    def release(self) -> None:
        with self._lock:
            self._watches -= 1
            if self._watches == 0:
                for handle in self._handles:
                    handle.remove()
                self._handles.clear()
                self.model_names.clear()
                for span in self._open.values():
                    _span_end(span)
                self._open.clear()

    def _enter(self, optimizer: torch.optim.Optimizer, _args: Any, _kwargs: Any) -> None:
        if _is_compiling():
            return
        self._leave(optimizer, None, None)  # a step that raised left its span open
        name = _core.intern(type(optimizer).__name__)
        self._open[id(optimizer)] = _span_begin(_OPTIMIZER, name, name)

    def _leave(self, optimizer: torch.optim.Optimizer, _args: Any, _kwargs: Any) -> None:
        if not _is_compiling():
            _span_end(self._open.pop(id(optimizer), 0))


_watched = _Watched()
