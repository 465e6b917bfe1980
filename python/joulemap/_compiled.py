"""Spans of the modules inside of what torch.compile has compiled, from the marks in its code (`_inductor.py`).

A graph is entered once a call. Each mark then says which modules the kernels that follow belong to: those of them
that are not open around the call are opened, as in eager code, and stay open until a mark of others.

Dynamo names a module by the variable of the compiled function: the same code runs for all modules of a class.
So a path counts from the innermost module that is called around the graph and holds modules of these
paths and classes; then the very module that was compiled; then the watched models.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, TypeAlias

import torch

from joulemap import _core, _inductor
from joulemap._threads import local
from joulemap._tracing import tracing

_KINDS = {
    _inductor.FORWARD: _core.SPAN_KINDS["forward"],
    _inductor.BACKWARD: _core.SPAN_KINDS["backward"],
    _inductor.RECOMPUTE: _core.SPAN_KINDS["recompute"],
}

_span_begin = _core.span_begin
_span_end = _core.span_end
_graph_task = torch._C._current_graph_task_id


class Layer(Protocol):
    """A watched module."""

    looked: bool  # what is compiled of it is known, or told

    @property
    def path(self) -> str:
        """Of the module."""

    @property
    def name(self) -> int:
        """The interned path."""

    @property
    def type(self) -> int:
        """The interned class and sizes."""

    @property
    def watch(self) -> Watch:
        """Of its model."""

    def held(self) -> Any:
        """Return the module itself, not what torch.compile made of it, or None."""


class Watch(Protocol):
    """The layers of one model."""

    by_path: dict[str, Any]
    root: Any

    def tell(self, path: str) -> None:
        """Note a module that is compiled, and of whose inside nothing is known."""

    def path_in(self, layer: Any, path: str) -> str:
        """Return the path of what is called `path` inside of a layer."""


class Frame(Protocol):
    """One call of a watched module."""

    layer: Any
    parent: Any
    seen: bool


Step: TypeAlias = "tuple[int, int, int]"  # kind, name, type of a span
_watches: list[Watch] = []
_chains: dict[tuple[Any, bool], dict[str, tuple[Step, ...]]] = {}  # by the layer around, and whether it recomputes


def begin(watch: Watch) -> None:
    """Make spans of its modules."""
    _watches.append(watch)
    _chains.clear()


def end(watch: Watch) -> None:
    """Make none any more."""
    if watch in _watches:
        _watches.remove(watch)
    _chains.clear()


def enter() -> Callable[[str], Any]:
    """Enter a compiled graph: what is returned is called with the marks, and let go of at the end."""
    return Region() if _watches and tracing.on else str


class Region:
    """A compiled graph at work."""

    __slots__ = ("_around", "_chains", "_frame", "_opened", "_recomputes", "_state")
    _opened: list[tuple[Step, int]]

    def __init__(self) -> None:
        state = local.state.now()
        self._state = state
        self._around: list[tuple[Step, int]] = state.regions[-1] if state.regions else []
        self._opened = []
        task = _graph_task()
        self._recomputes = task != -1
        self._frame: Frame | None = state.frame
        if self._frame is None and task != -1:
            backward = state.backward
            if backward is not None and not backward.done and backward.task == task:
                self._frame = backward.frame
        frame = self._frame
        while frame is not None and not frame.seen:
            frame.seen = True
            frame.layer.looked = True  # a CUDA graph may take the place of this code in calls to come
            frame = frame.parent
        key = (None if self._frame is None else self._frame.layer, self._recomputes)
        self._chains = _chains.setdefault(key, {})
        state.regions.append(self._opened)

    def __call__(self, mark: str) -> None:
        """Let the kernels that follow belong to the modules of a mark."""
        regions = self._state.regions
        if not (regions and regions[-1] is self._opened) and not any(each is self._opened for each in regions):
            return  # it was closed from outside, by an exception that went through it
        chain = self._chains.get(mark)
        if chain is None:
            try:
                chain = _resolve(mark, self._frame, self._recomputes)
            except Exception:  # a mark of another time: what is around has it
                chain = ()
            self._chains[mark] = chain
        if self._around:  # a graph in a graph: some of it is open there
            chain = chain[_same(chain, self._around) :]
        opened = self._opened
        same = _same(chain, opened)
        while len(opened) > same:
            _span_end(opened.pop()[1])
        for step in chain[same:]:
            opened.append((step, _span_begin(*step)))

    def __del__(self) -> None:
        """End what is open: the graph's code has returned, or raised."""
        regions = self._state.regions
        for depth in reversed(range(len(regions))):
            if regions[depth] is self._opened:
                self._state.close_regions(depth)
                return


def _same(chain: Sequence[Step], opened: Sequence[tuple[Step, int]]) -> int:
    """Return how many of the first are open."""
    same, most = 0, min(len(chain), len(opened))
    while same < most and chain[same] == opened[same][0]:
        same += 1
    return same


def _around(frame: Frame | None) -> Iterator[Layer]:
    while frame is not None:
        yield frame.layer
        frame = frame.parent


def _layer_at(layer: Layer, path: str, by_id: dict[int, Layer]) -> Layer | None:
    found = layer.watch.by_path.get(layer.watch.path_in(layer, path)) if path else layer
    if found is None:  # a module of two paths is watched under the first
        try:
            return by_id.get(id(layer.held().get_submodule(path)))
        except AttributeError:
            return None
    return found


def _inside(layer: Layer, modules: Sequence[_inductor.Module], by_id: dict[int, Layer]) -> list[Layer] | None:
    """Return the layers of these paths inside of one, or None if one is missing or of another class."""
    found: list[Layer] = []
    for module in modules:
        inner = _layer_at(layer, module.path, by_id)
        if inner is None or type(inner.held()).__name__ != module.type:
            return None
        found.append(inner)
    return found


def _find(modules: Sequence[_inductor.Module], frame: Frame | None) -> list[Layer]:
    """Return the layers that these modules are, or none if it cannot be told."""
    if not modules:
        return []
    by_id = {id(layer.held()): layer for watch in _watches for layer in watch.by_path.values()}
    for layer in _around(frame):
        found = _inside(layer, modules, by_id)
        if found is not None:
            return found
    candidates = [found for layer in by_id.values() if (found := _inside(layer, modules, by_id)) is not None]
    if len(candidates) == 1:
        return candidates[0]
    if not all(_inductor.was_compiled(id(found[-1].held())) for found in candidates):
        for found in candidates:  # code of one that others may run: a function that takes a module
            found[0].watch.tell(found[0].path)
        return []
    named = [by_id.get(_inductor.id_of(module) or 0) for module in modules]
    layers = [layer for layer in named if layer is not None]
    same = [type(layer.held()).__name__ for layer in layers] == [module.type for module in modules]
    return layers if same else []


def _resolve(mark: str, frame: Frame | None, recomputes: bool) -> tuple[Step, ...]:
    word, modules, fused, type_ = json.loads(mark)
    if word == _inductor.FORWARD and recomputes:
        word = _inductor.RECOMPUTE
    kind = _KINDS[word]
    layers = _find([_inductor.Module(*module) for module in modules], frame)
    if modules and not layers:
        return ()
    opened = {layer.path for layer in _around(frame)}
    inner = max((i + 1 for i, layer in enumerate(layers) if layer.path in opened), default=0)
    chain = [(kind, layer.name, layer.type) for layer in layers[inner:]]
    if fused:
        holder = layers[-1] if layers else next(_around(frame), None)
        path = fused if holder is None else holder.watch.path_in(holder, fused)
        chain.append((kind, _core.intern(path), _core.intern(type_)))
    return tuple(chain)
