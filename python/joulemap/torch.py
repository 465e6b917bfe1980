"""Modules of a PyTorch model as layers: which module each interval of forward and backward belongs to.

Forward: a span opens and closes around each call of a watched module (`_calls.py` says how they are heard of). A
forward that runs inside a backward pass is activation checkpointing at work, and gets the kind "recompute".

Backward: no `full_backward_hook`, which would put nodes into the graph and forbid in-place operations on a
module's output. Instead the autograd nodes are labelled while the graph grows: the node that made a
module's output belongs to the module, the node that made its input belongs to the container around it.
The engine runs nodes in reverse order of their making, so a labelled node that fires means that from here
on its module's backward runs, until the next label (`_core_backward.c`). Children leave before their container, so the
first label of a node, which stays, is the innermost one.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import nn
from torch.nn.modules.module import register_module_module_registration_hook
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from joulemap import _arguments, _calls, _compiled, _core
from joulemap._backward import Frame
from joulemap._calls import hearing
from joulemap._describe import describe
from joulemap._dynamo import Uncompiled, is_compiling, leave_alone, leave_methods_alone
from joulemap._generation import Generation
from joulemap._layer import Layer, is_compiled, layer_of
from joulemap._loaders import Loaders
from joulemap._threads import OptimizerSteps, ThreadState, local, optimizer_steps
from joulemap._tracing import tracing as _tracing

if TYPE_CHECKING:
    from joulemap._isolation.result import IsolatedLayers

__all__ = ["Watch", "isolate"]

_OPTIMIZER = _core.SPAN_KINDS["optimizer"]

_COMPILED = "torch.compile: "  # begins the name of a mark: src/attribute/notes/quality.h

_MOST = 1e9  # of any number that is given

_ORIGINAL = "_orig_mod"  # torch.compile's inner module, for which the outer one speaks

_Put = tuple[nn.Module, str, nn.Module]  # what is just put in, where, and under which name: hooks come before it is


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
        """Make layers of a module and all in it that are none yet, and rename those that stand elsewhere by now.

        Returns the paths of new layers, and the former ones of those that have moved.
        """
        added: list[str] = []
        moved: list[tuple[Layer, str]] = []
        seen: set[int] = set()
        waiting = [(path, "", model)]
        while waiting:
            path, name, module = waiting.pop()
            if id(module) in seen or isinstance(module, torch.jit.ScriptModule):
                continue  # the latter calls no hooks: its work is that of the module around it
            seen.add(id(module))
            layer = layer_of(module)
            if layer is not None and layer.watch is self and layer.path != path:
                if self._stands(layer, module, put):
                    path = layer.path  # of several, or what was put around it has none
                else:
                    moved.append((layer, path))
            elif layer is None and name != _ORIGINAL and not self._is_inside(path, module):
                named = getattr(module, _ORIGINAL, module) if is_compiled(module) else module
                layer = Layer(self, module, path, describe(named))
                self._layers.append(layer)
                self.by_path[path] = layer
                self._uncompiled.add(type(module))
                added.append(path)
            inside = _children(module, put).items()
            waiting += [
                (path if part == _ORIGINAL else self._below(path, part), part, child)
                for part, child in reversed(inside)
            ]
        return added, self._rename(moved)

    def _rename(self, moved: list[tuple[Layer, str]]) -> list[str]:
        """Give layers other paths; return the former ones."""
        former = [layer.path for layer, _ in moved]
        for layer, _ in moved:
            if self.by_path.get(layer.path) is layer:
                del self.by_path[layer.path]
        for layer, path in moved:
            layer.rename(path)
            if layer.inner is None:
                self.by_path[path] = layer
        return former

    def _stands(self, layer: Layer, module: nn.Module, put: _Put | None) -> bool:
        """Tell whether a module is where its path leads, or in what was put around it there (LoRA, FSDP)."""
        at = None if self.root is None else self.root.module()
        path = self._root
        for name in [] if layer.path == path else layer.path[len(self._prefix) :].split("."):
            child = None
            while at is not None and (child := _children(at, put).get(name)) is None:
                at = _row_inside(at, path)
            at, path = child, self._below(path, name)
        while at is not None and at is not module:
            at = _row_inside(at, path)
        return at is not None

    def _is_inside(self, path: str, module: nn.Module) -> bool:
        """Tell whether the layer of this path is in the module: then it was put around it, and has no row."""
        known = self.by_path.get(path)
        held = None if known is None else known.module()
        return held is not None and any(each is held for each in module.modules())

    def put_in(self, outer: nn.Module, name: str, module: nn.Module) -> None:
        """Make layers of what is put into a layer: another head, LoRA's modules; what was there may have moved.

        Parameters
        ----------
        outer : torch.nn.Module
            The layer's module.
        name : str
            What it is put in as.
        module : torch.nn.Module
            What is put in.
        """
        there = outer._modules.get(name)
        before = None if there is None else layer_of(there)
        if before is not None and before.path != self.path_in(cast(Layer, layer_of(outer)), name):
            self.look()  # it has moved, and what comes may be put around it
        path = self.path_in(cast(Layer, layer_of(outer)), name)
        known = self.by_path.get(path)
        held = None if known is None else known.module()
        is_other = held is not None and held is not module and not self._is_inside(path, module)
        put = (outer, name, module)
        moved = self._add(module, path, put)[1]
        if is_other or moved:
            self.look(put)

    def look(self, put: _Put | None = None) -> None:
        """Make layers of modules that came past PyTorch's hooks, and warn of them.

        Parameters
        ----------
        put : tuple, optional
            A module, a name and a child that is about to be put there.
        """
        model = None if self.root is None else self.root.module()
        if model is None:
            return
        try:
            late, moved = self._add(model, self._root, put)
        except Exception as error:  # another thread builds it just now, say: it is the program's own business
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
        """Return the path of what is inside of a layer.

        Parameters
        ----------
        layer : Layer
            A layer of this watch.
        path : str
            From there, as `named_modules` has it.

        Returns
        -------
        str
            The path of its row.
        """
        return self._below(layer.path, path)

    def add_compiled(self, outer: nn.Module, inner: Layer) -> Layer:
        """Let what torch.compile made of a watched module speak for it.

        Parameters
        ----------
        outer : torch.nn.Module
            What torch.compile made.
        inner : Layer
            The watched module's.

        Returns
        -------
        Layer
            Of the outer module, with the inner one's path.
        """
        layer = Layer(self, outer, inner.path, describe(cast(nn.Module, inner.module())))
        layer.inner = inner
        self._layers.append(layer)
        return layer

    def tell(self, path: str) -> None:
        """Note a module that is compiled: of what it holds reports have no rows.

        Parameters
        ----------
        path : str
            Its layer's.
        """
        inside = any(path == told or path.startswith(f"{told}.") for told in self._told)
        if not inside:
            self._told.add(path)
            _core.mark(_COMPILED + path, None)

    def cannot_label(self, error: BaseException) -> None:
        """Warn once that autograd nodes have no labels; the program goes on.

        Parameters
        ----------
        error : Exception
            Why not.
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
        """Take all layers away."""
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
    """Return what is in a module, and about to be."""
    children = dict(module._modules.items())
    if put is not None and put[0] is module:
        children[put[1]] = put[2]
    return {name: child for name, child in children.items() if child is not None}


def _row_inside(module: nn.Module, path: str) -> nn.Module | None:
    """Return the module that the row of this path is of, where another was put around it."""
    if is_compiled(module):
        return cast(nn.Module, module._orig_mod)
    if layer_of(module) is not None:
        return None
    return next((each for each in module.modules() if (layer := layer_of(each)) and layer.path == path), None)


def _warn_of(text: str) -> None:
    warnings.warn(text, RuntimeWarning, stacklevel=4)


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
        name = _arguments.text("the name of a model", name)
    root = name or type(getattr(model, "_orig_mod", model)).__name__
    taken = _watched.model_names
    first = not taken
    if root in taken:
        root = next(f"{root}_{i}" for i in range(2, len(taken) + 3) if f"{root}_{i}" not in taken)
    taken.append(root)
    return Watch(model, root, "" if first and name is None else f"{root}.", find_steps)


def is_watched(model: nn.Module) -> bool:
    """Tell whether a model is watched already."""
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
    """Measure layers of a model alone: the energy of a call, from the GPU's total over bursts with gaps.

    One forward pass shows what each layer is given: values, layout, dtype, requires_grad, autocast. Then each layer
    is called with that in bursts that no launch interrupts: CUDA graphs, where one can hold it. Several settings of
    bursts and gaps keep the GPU below its power limit. The model is left as it was: weights, buffers, gradients,
    modes, random states.

    Parameters
    ----------
    model : torch.nn.Module
        On one GPU, in the mode to measure (`train()`, `eval()`).
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
        If the GPU is not recorded, or no sensor measures its energy.

    Notes
    -----
    The energy of a window is calls x e + gap time x P_gap + bursts x e_edge: least squares over all windows give e, the
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
    """What all watches of the process share while there is one: names of models, hooks of modules and optimizers."""

    def __init__(self) -> None:
        self.model_names: list[str] = []
        self._watches = 0
        self._handles: list[Any] = []

    def acquire(self) -> None:
        with hearing.lock:
            self._watches += 1
            if self._watches == 1:
                self._handles = [
                    register_optimizer_step_pre_hook(self._enter),
                    register_optimizer_step_post_hook(self._leave),
                    register_module_module_registration_hook(self._put_in),
                ]
                hearing.begin()

    def release(self) -> None:
        with hearing.lock:
            self._watches -= 1
            if self._watches == 0:
                for handle in self._handles:
                    handle.remove()
                self._handles.clear()
                hearing.end()
                self.model_names.clear()
                optimizer_steps.end_all()

    def _put_in(self, outer: nn.Module, name: str, module: nn.Module | None) -> None:
        layer = layer_of(outer)
        known = None if module is None else layer_of(module)
        if layer is None or module is None or (known is not None and known.watch is not layer.watch):
            return
        try:
            layer.watch.put_in(outer, name, module)
        except Exception as error:  # of a module that is half made, say: it is the program's own business
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


def _show(traced: bool) -> None:
    """Let modules be called as if nobody watched in steps that are not traced."""
    if not traced:
        local.state.renew()
    hearing.show()


_watched = _Watched()
_tracing.follow(_show)
os.register_at_fork(
    before=hearing.lock.acquire, after_in_parent=hearing.lock.release, after_in_child=hearing.lock.release
)

leave_methods_alone(Frame, Layer, Watch, _Watched, _calls.Hearing, ThreadState, OptimizerSteps, _compiled.Region)
for _function in (_show, *_calls.FUNCTIONS):
    leave_alone(_function)
