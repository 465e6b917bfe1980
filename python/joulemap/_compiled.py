"""Spans of the modules inside of compiled code, from the marks in it (`_inductor.py`).

A graph is entered once per call. Each mark names the modules of the kernels that follow. Those that are not open
already are opened, as in eager code, and stay open until a mark of other modules.

Dynamo names a module by a variable of the compiled function, and the same code runs for all modules of a class.
So a path starts at the innermost enclosing module call that has modules of these paths and classes; else at the
module that was compiled; else at a watched model.
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

    checked: bool  # no need to look whether it runs as compiled code without spans

    @property
    def path(self) -> str:
        """The path of the module."""

    @property
    def name(self) -> int:
        """The interned path."""

    @property
    def type(self) -> int:
        """The interned class and sizes."""

    @property
    def watch(self) -> Watch:
        """The watch of its model."""

    def held(self) -> Any:
        """Return the module itself, not torch.compile's wrapper; None if it is gone."""


class Watch(Protocol):
    """The layers of one model."""

    by_path: dict[str, Any]
    root: Any

    def note_compiled(self, path: str) -> None:
        """Note a compiled module without rows for its submodules."""

    def path_in(self, layer: Any, path: str) -> str:
        """Return the full path of `path` inside of a layer."""


class Frame(Protocol):
    """One call of a watched module."""

    layer: Any
    parent: Any
    has_spans: bool


Step: TypeAlias = "tuple[int, int, int]"  # kind, name, type of a span
_watches: list[Watch] = []
_chains: dict[tuple[Any, bool], dict[str, tuple[Step, ...]]] = {}  # by enclosing layer, and whether it is a recompute


def begin(watch: Watch) -> None:
    """Make spans of its modules."""
    _watches.append(watch)
    _chains.clear()


def end(watch: Watch) -> None:
    """Stop making spans of its modules."""
    if watch in _watches:
        _watches.remove(watch)
    _chains.clear()


def enter() -> Callable[[str], Any]:
    """Enter a compiled graph. Its code calls the result with each mark, and releases it at the end."""
    return Region() if _watches and tracing.on else str


class Region:
    """A running compiled graph."""

    __slots__ = ("_chains", "_enclosing", "_frame", "_opened", "_recomputes", "_state")
    _opened: list[tuple[Step, int]]

    def __init__(self) -> None:
        state = local.state.now()
        self._state = state
        self._enclosing: list[tuple[Step, int]] = state.regions[-1] if state.regions else []
        self._opened = []
        task = _graph_task()
        self._recomputes = task != -1
        self._frame: Frame | None = state.frame
        if self._frame is None and task != -1:
            backward = state.backward
            if backward is not None and not backward.done and backward.task == task:
                self._frame = backward.frame
        frame = self._frame
        while frame is not None and not frame.has_spans:
            frame.has_spans = True
            frame.layer.checked = True  # later calls may replay a CUDA graph, without these marks
            frame = frame.parent
        key = (None if self._frame is None else self._frame.layer, self._recomputes)
        self._chains = _chains.setdefault(key, {})
        state.regions.append(self._opened)

    def __call__(self, mark: str) -> None:
        """Attribute the kernels that follow to the modules of a mark."""
        regions = self._state.regions
        if not (regions and regions[-1] is self._opened) and not any(each is self._opened for each in regions):
            return  # closed from outside, by an exception that passed through it
        chain = self._chains.get(mark)
        if chain is None:
            try:
                chain = _resolve(mark, self._frame, self._recomputes)
            except Exception:  # a mark of another version: the enclosing layer gets the kernels
                chain = ()
            self._chains[mark] = chain
        if self._enclosing:  # a graph in a graph: skip what is open there
            chain = chain[_common(chain, self._enclosing) :]
        opened = self._opened
        common = _common(chain, opened)
        while len(opened) > common:
            _span_end(opened.pop()[1])
        for step in chain[common:]:
            opened.append((step, _span_begin(*step)))

    def __del__(self) -> None:
        """End the open spans: the graph's code has returned or raised."""
        regions = self._state.regions
        for depth in reversed(range(len(regions))):
            if regions[depth] is self._opened:
                self._state.close_regions(depth)
                return


def _common(chain: Sequence[Step], opened: Sequence[tuple[Step, int]]) -> int:
    """Return the length of the common prefix."""
    common, most = 0, min(len(chain), len(opened))
    while common < most and chain[common] == opened[common][0]:
        common += 1
    return common


def _enclosing_layers(frame: Frame | None) -> Iterator[Layer]:
    """Yield the layers of a call and its enclosing calls, innermost first."""
    while frame is not None:
        yield frame.layer
        frame = frame.parent


def _layer_at(layer: Layer, path: str, by_id: dict[int, Layer]) -> Layer | None:
    found = layer.watch.by_path.get(layer.watch.path_in(layer, path)) if path else layer
    if found is None:  # a module with two paths is watched under the first
        try:
            return by_id.get(id(layer.held().get_submodule(path)))
        except AttributeError:
            return None
    return found


def _inside(layer: Layer, modules: Sequence[_inductor.Module], by_id: dict[int, Layer]) -> list[Layer] | None:
    """Return the layers of these modules inside of `layer`; None if one is missing or has another class."""
    found: list[Layer] = []
    for module in modules:
        inner = _layer_at(layer, module.path, by_id)
        if inner is None or type(inner.held()).__name__ != module.type:
            return None
        found.append(inner)
    return found


def _find(modules: Sequence[_inductor.Module], frame: Frame | None) -> list[Layer]:
    """Return the layers of these modules; an empty list if they are ambiguous."""
    if not modules:
        return []
    by_id = {id(layer.held()): layer for watch in _watches for layer in watch.by_path.values()}
    for layer in _enclosing_layers(frame):
        found = _inside(layer, modules, by_id)
        if found is not None:
            return found
    candidates = [found for layer in by_id.values() if (found := _inside(layer, modules, by_id)) is not None]
    if len(candidates) == 1:
        return candidates[0]
    if not all(_inductor.was_compiled(id(found[-1].held())) for found in candidates):
        for found in candidates:  # code that runs for several modules: a function that takes a module
            found[0].watch.note_compiled(found[0].path)
        return []
    named = [by_id.get(_inductor.id_of(module) or 0) for module in modules]
    layers = [layer for layer in named if layer is not None]
    matches = [type(layer.held()).__name__ for layer in layers] == [module.type for module in modules]
    return layers if matches else []


def _resolve(mark: str, frame: Frame | None, recomputes: bool) -> tuple[Step, ...]:
    kind_name, modules, fused, type_ = json.loads(mark)
    if kind_name == _inductor.FORWARD and recomputes:
        kind_name = _inductor.RECOMPUTE
    kind = _KINDS[kind_name]
    layers = _find([_inductor.Module(*module) for module in modules], frame)
    if modules and not layers:
        return ()
    opened = {layer.path for layer in _enclosing_layers(frame)}
    inner = max((i + 1 for i, layer in enumerate(layers) if layer.path in opened), default=0)
    chain = [(kind, layer.name, layer.type) for layer in layers[inner:]]
    if fused:
        holder = layers[-1] if layers else next(_enclosing_layers(frame), None)
        path = fused if holder is None else holder.watch.path_in(holder, fused)
        chain.append((kind, _core.intern(path), _core.intern(type_)))
    return tuple(chain)
