"""Layers of PyTorch models: spans of forward and backward for each module.

Forward: each call of a watched module is a span (`_module_calls.py`). A forward call inside a backward pass is
activation checkpointing, and has the kind "recompute".

Backward: `full_backward_hook` is not used, as it puts nodes into the graph and forbids in-place operations on a
module's output. Instead autograd nodes are labelled while the graph is built. The node that made a module's output
belongs to the module, the node that made its input to the enclosing module. The engine runs nodes in reverse order, so
when a labelled node runs, the backward of its module begins, until the next label (`_core_backward.c`). Children
return before their container, so the first label of a node is the innermost one, and stays.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import nn
from torch.nn.modules.module import register_module_module_registration_hook
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from joulemap import _arguments, _compiled, _core, _module_calls
from joulemap._backward import Frame
from joulemap._data_loaders import Loaders
from joulemap._describe import describe
from joulemap._dynamo import Uncompiled, is_compiling, leave_alone, leave_methods_alone
from joulemap._generation import Generation
from joulemap._layer import Layer, is_compiled, layer_of
from joulemap._loop_steps import LoopSteps
from joulemap._module_calls import call_tracing, calls
from joulemap._threads import OptimizerSteps, ThreadState, local, optimizer_steps
from joulemap._tracing import tracing as _tracing

if TYPE_CHECKING:
    from joulemap._isolation.result import IsolatedLayers

__all__ = ["Watch", "isolate"]

_OPTIMIZER = _core.SPAN_KINDS["optimizer"]

_COMPILED = "torch.compile: "  # begins the name of a mark: src/attribute/notes/quality.h

_MOST = 1e9  # upper limit of numeric arguments

_ORIGINAL = "_orig_mod"  # the module inside torch.compile's wrapper; the wrapper has its layer

_Put = tuple[nn.Module, str, nn.Module]  # a registration that PyTorch is about to do: parent, name, child


class Watch:
    """The layers of one model; `remove()` takes them away."""

    def __init__(self, model: nn.Module, root: str, prefix: str, find_steps: bool) -> None:
        self.active = True
        self.finds_steps = find_steps
        self._root = root
        self._prefix = prefix
        self._layers: list[Layer] = []
        self.by_path: dict[str, Layer] = {}
        self._warned = False
        self._compiled_paths: set[str] = set()  # paths of compiled modules
        self._uncompiled = Uncompiled()
        self.root: Layer | None = None
        self._add(model, root)
        self.root = self.by_path.get(root)
        _watched.acquire()
        _compiled.begin(self)
        self._finders: list[Loaders | Generation] = [Loaders(), Generation(model)] if find_steps else []

    def __len__(self) -> int:
        """Return the number of watched modules."""
        return len(self._layers)

    def __repr__(self) -> str:
        state = f"{len(self)} layers" if self.active else "removed"
        return f"<joulemap.torch.Watch {self._root!r}: {state}>"

    def _add(self, model: nn.Module, path: str, put: _Put | None = None) -> tuple[list[str], list[str]]:
        """Make layers of a module and its submodules, and rename layers that have moved.

        Returns the paths of new layers, and the former paths of moved ones.
        """
        added: list[str] = []
        moved: list[tuple[Layer, str]] = []
        seen: set[int] = set()
        waiting = [(path, "", model)]
        while waiting:
            path, name, module = waiting.pop()
            if id(module) in seen or isinstance(module, torch.jit.ScriptModule):
                continue  # a ScriptModule calls no hooks: its work belongs to the enclosing module
            seen.add(id(module))
            layer = layer_of(module)
            if layer is not None and layer.watch is self and layer.path != path:
                if self._is_at_its_path(layer, module, put):
                    path = layer.path  # the module has several paths, or a wrapper around it has no layer
                else:
                    moved.append((layer, path))
            elif layer is None and name != _ORIGINAL and not self._is_inside(path, module):
                named = getattr(module, _ORIGINAL, module) if is_compiled(module) else module
                layer = Layer(self, module, path, describe(named))
                self._layers.append(layer)
                self.by_path[path] = layer
                self._uncompiled.add(type(module))
                added.append(path)
            children = _children(module, put).items()
            waiting += [
                (path if part == _ORIGINAL else self._below(path, part), part, child)
                for part, child in reversed(children)
            ]
        return added, self._rename(moved)

    def _rename(self, moved: list[tuple[Layer, str]]) -> list[str]:
        """Give layers new paths; return the former ones."""
        former = [layer.path for layer, _ in moved]
        for layer, _ in moved:
            if self.by_path.get(layer.path) is layer:
                del self.by_path[layer.path]
        for layer, path in moved:
            layer.rename(path)
            if layer.inner is None:
                self.by_path[path] = layer
        return former

    def _is_at_its_path(self, layer: Layer, module: nn.Module, put: _Put | None) -> bool:
        """Return whether a module is at the path of its layer, or inside a wrapper there (LoRA, FSDP)."""
        at = None if self.root is None else self.root.module()
        path = self._root
        for name in [] if layer.path == path else layer.path[len(self._prefix) :].split("."):
            child = None
            while at is not None and (child := _children(at, put).get(name)) is None:
                at = _unwrap(at, path)
            at, path = child, self._below(path, name)
        while at is not None and at is not module:
            at = _unwrap(at, path)
        return at is not None

    def _is_inside(self, path: str, module: nn.Module) -> bool:
        """Return whether the module is a wrapper around the layer of this path; then it gets no layer."""
        known = self.by_path.get(path)
        held = None if known is None else known.module()
        return held is not None and any(each is held for each in module.modules())

    def put_in(self, outer: nn.Module, name: str, module: nn.Module) -> None:
        """Make layers of a module that is put into a layer: another head, LoRA's modules.

        Parameters
        ----------
        outer : torch.nn.Module
            The layer's module.
        name : str
            Name of the new submodule.
        module : torch.nn.Module
            The new submodule.
        """
        replaced = outer._modules.get(name)
        before = None if replaced is None else layer_of(replaced)
        if before is not None and before.path != self.path_in(cast(Layer, layer_of(outer)), name):
            self.look()  # the replaced module has moved, and the new one may wrap it
        path = self.path_in(cast(Layer, layer_of(outer)), name)
        known = self.by_path.get(path)
        held = None if known is None else known.module()
        is_other = held is not None and held is not module and not self._is_inside(path, module)
        put = (outer, name, module)
        moved = self._add(module, path, put)[1]
        if is_other or moved:
            self.look(put)

    def look(self, put: _Put | None = None) -> None:
        """Make layers of modules that were added without PyTorch's hooks, and warn of them.

        Parameters
        ----------
        put : tuple, optional
            A module, a name, and a child that is about to be put there.
        """
        model = None if self.root is None else self.root.module()
        if model is None:
            return
        try:
            late, moved = self._add(model, self._root, put)
        except Exception as error:  # for example, another thread changes the model just now
            _warn_of(f"joulemap cannot look for new modules of {self._root}: {error}")
            return
        if late:
            _warn_of(
                f"{len(late)} modules of {self._root} came after watch() and past PyTorch's hooks ({late[0]} ...): "
                "until now their work stands at what is around them; after such changes call watch() again"
            )
        if moved and put is None:
            _warn_of(
                f"{len(moved)} modules of {self._root} moved past PyTorch's hooks ({moved[0]} ...): "
                "until now their work stands at their former paths"
            )

    def _below(self, path: str, name: str) -> str:
        return f"{self._prefix if path == self._root else path + '.'}{name}"

    def path_in(self, layer: Layer, path: str) -> str:
        """Return the full path of a submodule of a layer.

        Parameters
        ----------
        layer : Layer
            A layer of this watch.
        path : str
            Path of the submodule inside of the layer, as in `named_modules`.

        Returns
        -------
        str
            The path of its row.
        """
        return self._below(layer.path, path)

    def add_compiled(self, outer: nn.Module, inner: Layer) -> Layer:
        """Make a layer of torch.compile's wrapper around a watched module.

        Parameters
        ----------
        outer : torch.nn.Module
            The wrapper.
        inner : Layer
            The layer of the watched module.

        Returns
        -------
        Layer
            The layer of the wrapper, with the path of the inner one.
        """
        layer = Layer(self, outer, inner.path, describe(cast(nn.Module, inner.module())))
        layer.inner = inner
        self._layers.append(layer)
        return layer

    def note_compiled(self, path: str) -> None:
        """Note a compiled module without rows for its submodules.

        Parameters
        ----------
        path : str
            Path of its layer.
        """
        if not any(path == outer or path.startswith(f"{outer}.") for outer in self._compiled_paths):
            self._compiled_paths.add(path)
            _core.mark(_COMPILED + path, None)

    def cannot_label(self, error: BaseException) -> None:
        """Warn once that autograd nodes have no labels.

        Parameters
        ----------
        error : Exception
            The cause.
        """
        if not self._warned:
            self._warned = True
            warnings.warn(
                f"joulemap cannot label the backward pass of this model "
                f"({type(error).__name__}: {error}); its backward joules may stand at the wrong layer",
                RuntimeWarning,
                stacklevel=2,
            )

    def remove(self) -> None:
        """End the watch."""
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


def _children(module: nn.Module, put: _Put | None) -> dict[str, nn.Module]:
    """Return the children of a module, with the one that is about to be put there."""
    children = dict(module._modules.items())
    if put is not None and put[0] is module:
        children[put[1]] = put[2]
    return {name: child for name, child in children.items() if child is not None}


def _unwrap(module: nn.Module, path: str) -> nn.Module | None:
    """Return the module with the layer of this path inside of a wrapper, or None."""
    if is_compiled(module):
        return cast(nn.Module, module._orig_mod)
    if layer_of(module) is not None:
        return None
    return next((each for each in module.modules() if (layer := layer_of(each)) and layer.path == path), None)


def _warn_of(text: str) -> None:
    warnings.warn(text, RuntimeWarning, stacklevel=4)


def watch(model: nn.Module, name: str | None = None, *, find_steps: bool = True) -> Watch:
    """Make layers of all modules of `model`; programs call `Session.watch`.

    Raises
    ------
    TypeError
        If `model` is no `torch.nn.Module`, or `name` no text.
    """
    if not isinstance(model, nn.Module):
        raise TypeError(f"watch() takes a torch.nn.Module, not a {type(model).__name__}")
    if name is not None:
        name = _arguments.text("the name of a model", name)
    root = name or type(getattr(model, "_orig_mod", model)).__name__
    taken = _watched.model_names
    first = not taken
    if root in taken:
        root = next(f"{root}_{i}" for i in range(2, len(taken) + 3) if f"{root}_{i}" not in taken)
    taken.append(root)
    return Watch(model, root, "" if first and name is None else f"{root}.", find_steps)


def inside_of_wrappers(module: nn.Module) -> nn.Module:
    """Return the model inside of wrappers that have one module in an attribute: its layers have its own names."""
    while isinstance(module, nn.parallel.DistributedDataParallel | nn.DataParallel):
        module = module.module
    return module


class FoundModels:
    """Models that the program did not ask to watch, with the steps of its own loop, until `remove()`.

    Parameters
    ----------
    found : callable
        Called with each outermost module that is not watched, before its call. It may watch it.
    """

    def __init__(self, found: Callable[[nn.Module], None]) -> None:
        calls.found = found
        self._loop = LoopSteps()
        _watched.acquire()

    def remove(self) -> None:
        """Find no more; what is watched stays so."""
        calls.found = None
        self._loop.remove()
        _watched.release()


def is_watched(model: nn.Module) -> bool:
    """Return whether a model is watched already."""
    return layer_of(model) is not None


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
    """Measure layers of a model in isolation: the energy of a call, from the GPU's total over bursts with gaps.

    One forward pass records the inputs of each layer: values, layout, dtype, requires_grad, autocast. Then each layer
    is called with them in bursts without launch gaps: CUDA graphs, if the layer can be captured. Several settings of
    bursts and gaps keep the GPU below its power limit. Weights, buffers, gradients, modes and random states of the
    model are restored.

    Parameters
    ----------
    model : torch.nn.Module
        Model on one GPU, in the mode to measure (`train()`, `eval()`).
    inputs : tensor, tuple, list, mapping or callable
        Inputs of one forward pass: ``model(inputs)``, ``model(*inputs)`` or ``model(**inputs)``. A callable makes the
        pass itself and returns a loss or an output. Gradient mode and autocast are those of this call.
    layers : list of str, optional
        Paths of modules, or patterns (``"blocks.*.attn"``); by default the top-level blocks.
    backward : bool
        Also measure the backward pass of each layer: forward and backward together, minus forward.
    seconds : float
        Time of bursts for all layers together, seconds. Each layer has at least two rounds, 2.5 s or more.
    precision : float
        Target half-width of the 95 % interval, as a share of the energy; a layer that reaches it is done.
    clock_mhz : float, optional
        Mean SM clock of the live run (`report.quality.clock_mhz`), MHz. Gaps are adjusted until the layer runs at this
        clock, within 1 %.
    progress : bool
        Show a progress bar on stderr, if that is a terminal.
    seed : int
        Seed of the order of layers and settings.

    Returns
    -------
    IsolatedLayers
        A row per layer and direction; `left_out` says why others have none.

    Raises
    ------
    TypeError, ValueError
        If an argument is wrong.
    RuntimeError
        If the GPU is not recorded, or no sensor measures its energy.

    Notes
    -----
    The energy of a window is calls x e + gap time x P_gap + bursts x e_edge. Least squares over all windows give e, the
    energy of a call. The interval is Student's t times the standard error of e from the residuals.

    Examples
    --------
    >>> print(joulemap.torch.isolate(model, x, layers=["blocks.*.mlp"]).table())  # doctest: +SKIP
    """
    if not isinstance(model, nn.Module):
        raise TypeError(f"isolate() takes a torch.nn.Module, not a {type(model).__name__}")
    _arguments.real("seconds", seconds, 0, _MOST)
    _arguments.share("precision", precision)
    if clock_mhz is not None:
        _arguments.real("clock_mhz", clock_mhz, 0, _MOST)
    _arguments.flag("backward", backward)
    _arguments.flag("progress", progress)
    _arguments.whole("seed", seed)
    from joulemap._isolation import layers as isolation

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


class _Watched:
    """State that all watches of the process share: names of models, hooks of modules and optimizers."""

    def __init__(self) -> None:
        self.model_names: list[str] = []
        self._watches = 0
        self._handles: list[Any] = []

    def acquire(self) -> None:
        with call_tracing.lock:
            self._watches += 1
            if self._watches == 1:
                self._handles = [
                    register_optimizer_step_pre_hook(self._enter),
                    register_optimizer_step_post_hook(self._leave),
                    register_module_module_registration_hook(self._put_in),
                ]
                call_tracing.begin()

    def release(self) -> None:
        with call_tracing.lock:
            self._watches -= 1
            if self._watches == 0:
                for handle in self._handles:
                    handle.remove()
                self._handles.clear()
                call_tracing.end()
                self.model_names.clear()
                optimizer_steps.end_all()

    def _put_in(self, outer: nn.Module, name: str, module: nn.Module | None) -> None:
        layer = layer_of(outer)
        known = None if module is None else layer_of(module)
        if layer is None or module is None or (known is not None and known.watch is not layer.watch):
            return
        try:
            layer.watch.put_in(outer, name, module)
        except Exception as error:  # for example, a half-made module
            warnings.warn(f"joulemap cannot watch {name!r} of {layer.path}: {error}", RuntimeWarning, stacklevel=2)

    def _enter(self, optimizer: torch.optim.Optimizer, _args: Any, _kwargs: Any) -> None:
        if is_compiling() or not _tracing.on:
            return
        self._leave(optimizer, None, None)  # a step that raised left its span open
        name = _core.intern(type(optimizer).__name__)
        local.state.now()
        optimizer_steps.begin(optimizer, _OPTIMIZER, name)

    def _leave(self, optimizer: torch.optim.Optimizer, _args: Any, _kwargs: Any) -> None:
        if not is_compiling():
            optimizer_steps.end(optimizer)


def _on_tracing(traced: bool) -> None:
    """Remove or restore the tracing of calls when tracing changes."""
    if not traced:
        local.state.renew()
    call_tracing.apply()


_watched = _Watched()
_tracing.follow(_on_tracing)
os.register_at_fork(
    before=call_tracing.lock.acquire,
    after_in_parent=call_tracing.lock.release,
    after_in_child=call_tracing.lock.release,
)

leave_methods_alone(
    Frame, Layer, Watch, _Watched, _module_calls.CallTracing, ThreadState, OptimizerSteps, _compiled.Region, LoopSteps
)
for _function in (_on_tracing, *_module_calls.FUNCTIONS):
    leave_alone(_function)
