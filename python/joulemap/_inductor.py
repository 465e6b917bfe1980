"""Marks in the code that Inductor writes: which modules of the model each kernel comes from.

While a session runs, the wrapper that calls a graph's kernels one after the other gets a line before each of them:
a call with a text, which names the modules of the graph's nodes that the kernel does the work of. `_compiled.py`
makes spans of it. The text is all there is: code that comes from a cache brings its marks along. Where no session
runs the call is `str(text)`, also in a process without joulemap.

A cached graph without marks must not be taken in a session, nor one of other modules that looks the same. So what
identifies a graph in the caches of Inductor and AOTAutograd has the paths of its modules in it, in a session.

A kernel is of the innermost module that all of its nodes are in. If they are not all of that one, it has a row of
its own there, which is called by what is fused. Nodes that only look at memory in another way do no work.

Nothing here may fail the program: without marks a graph is one row.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
import sys
import threading
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from joulemap._imports import LatePatches

FORWARD, BACKWARD, RECOMPUTE = "forward", "backward", "recompute"

_HEADER = "_joulemap_modules = __import__('sys').modules"
_ENTER = "_joulemap = getattr(_joulemap_modules.get('joulemap._compiled'), 'enter', lambda: str)()"
_WRAPPERS = {"WrapperCodeGen", "PythonWrapperCodegen", "SubgraphWrapperCodeGen", "SubgraphPythonWrapperCodegen"}
_MOST_PARTS = 3  # that the name of a fused row tells
_MOST_LETTERS = 96
_FORM = "joulemap 2"  # of the marks; another one is other code
# They make a constant, or look at what is there: no kernel's work.
_NO_WORK = {"full", "scalar_tensor", "empty", "getitem", "reshape", "_reshape_alias", "inductor_lookup_seed"}
_ROOT = re.compile(r"[LG]\[(?:'[^']*'|\"[^\"]*\")\]")
_COMPONENT = re.compile(r"\.?([A-Za-z_0-9]+)|\[['\"]?([^\]'\"]+)['\"]?\]")


class Module(NamedTuple):
    """A module as Dynamo names it: the variable of the compiled function, the path from there, the class."""

    root: str
    path: str
    type: str


Stack = tuple[Module, ...]

# Modules that were compiled in this process: their ids by name, and their names by id.
_ids: dict[Module, set[int]] = {}
_names: dict[int, set[Module]] = {}
_watched: dict[int, weakref.ref[Any]] = {}


def id_of(module: Module) -> int | None:
    """Return the id that the one module of this name had when it was compiled in this process."""
    ids = tuple(_ids.get(module, ()))  # one may end meanwhile
    return ids[0] if len(ids) == 1 else None


def was_compiled(number: int) -> bool:
    """Tell whether a module of this id was compiled in this process, under a name of its own."""
    return number in _names


def forget_at_end(module: Any) -> None:
    """Forget the id of a watched module when it ends: the next one may get it, which nobody compiled.

    A module that is compiled and never watched is known by an id that outlives it.
    """
    number = id(module)
    known = _watched.get(number)
    if known is not None and known() is module:
        return
    watched, names, ids = _watched, _names, _ids  # bound: at the interpreter's end names go first

    def end(_: weakref.ref[Any]) -> None:
        watched.pop(number, None)
        for name in names.pop(number, ()):
            ids[name].discard(number)

    _watched[number] = weakref.ref(module, end)


@functools.lru_cache(4096)
def _split(text: str) -> tuple[str, str]:
    """Tell the variable from the path behind it: ``L['self'].blocks[0].attn`` is ``blocks.0.attn`` of L['self']."""
    root = _ROOT.match(text)
    behind = text[root.end() :] if root else "." + text
    components = ["".join(found) for found in _COMPONENT.findall(behind)]
    path = ".".join(part for part in components if part not in ("_orig_mod", "_modules"))
    return root.group() if root else "", path


def _stack_of(meta: dict[str, Any]) -> Stack:
    modules = []
    found = meta.get("nn_module_stack") or meta.get("fwd_nn_module_stack") or {}
    for key, (text, cls) in found.items():
        root, path = _split(text)
        name = cls.__name__ if isinstance(cls, type) else str(cls).rpartition(".")[2]
        module = Module(root, path, name)
        number = str(key).partition("@")[0]
        if number.isdigit():
            _ids.setdefault(module, set()).add(int(number))
            _names.setdefault(int(number), set()).add(module)
        modules.append(module)
    return tuple(modules)


def _operation(node: Any) -> str:
    target = node.target
    packet = getattr(target, "_overloadpacket", target)
    return str(getattr(packet, "__name__", packet)).rpartition(".")[2]


def _works(node: Any) -> bool:
    return not getattr(node.target, "is_view", False) and _operation(node) not in _NO_WORK


def _is_backward(node: Any) -> bool:
    """Not what is computed anew there: that has its place in forward."""
    meta = node.meta
    if meta.get("nn_module_stack"):
        return False
    return meta.get("partitioner_tag") == "is_backward" or "autograd_backward" in meta or "fwd_nn_module_stack" in meta


def _is_known(node: Any) -> bool:
    """Whether it can be told whose it is: sums of gradients and what Inductor's passes make have no module."""
    return bool(_stack_of(node.meta)) or not (_is_backward(node) or "stack_trace" not in node.meta)


def _bounded(words: Sequence[str], joint: str) -> str:
    told = joint.join(words[:_MOST_PARTS]) + (
        f"{joint}{len(words) - _MOST_PARTS} more" if len(words) > _MOST_PARTS else ""
    )
    return told if len(told) <= _MOST_LETTERS else told[: _MOST_LETTERS - 3] + "..."


def _name_in(module: Module, around: str, tell_root: bool) -> str:
    """Return what a fused row calls one of its parts. A dot would make a row inside of a row."""
    name = module.path.removeprefix(around)
    if tell_root or not name:  # of several models, or all of one
        name = ".".join(part for part in ("".join(re.findall(r"\w+", module.root[1:])), name) if part)
    return name.replace(".", "/")


def mark_of(nodes: Iterable[Any], kind: str, *, may_be_backward: bool) -> str:
    """Return the text of a mark for the kernel that does the work of these nodes of a graph.

    Parameters
    ----------
    nodes : iterable of torch.fx.Node
        In their order.
    kind : str
        Of the forward nodes.
    may_be_backward : bool
        The kernel runs in the backward pass, and is of it if one of its nodes is. A forward graph
        may do early what backward needs.
    """
    calls = [node for node in nodes if node.op == "call_function"]
    calls = [node for node in calls if _works(node)] or calls
    backward = may_be_backward and any(_is_backward(node) for node in calls)
    calls = [node for node in calls if _is_known(node)] or calls
    if backward:
        kind = BACKWARD
    parts: dict[Stack, str] = {}
    for node in calls:
        parts.setdefault(_stack_of(node.meta), _operation(node))
    stacks = list(parts)
    common: Stack = stacks[0] if stacks else ()
    for stack in stacks[1:]:
        length = next((i for i, pair in enumerate(zip(common, stack, strict=False)) if pair[0] != pair[1]), None)
        common = common[: min(len(common), len(stack)) if length is None else length]
    name = type_ = ""
    if len(stacks) > 1:
        around = common[-1].path + "." if common and common[-1].path else ""
        roots = {stack[0].root for stack in stacks if stack}
        names = [
            operation if stack == common else _name_in(stack[-1], around, len(roots) > 1)
            for stack, operation in parts.items()
        ]
        types = [operation if stack == common else stack[-1].type for stack, operation in parts.items()]
        name = "fused " + _bounded(list(dict.fromkeys(names)), " + ")
        type_ = "fused(" + _bounded(list(dict.fromkeys(types)), ", ") + ")"
    return json.dumps([kind, common, name, type_], separators=(",", ":"))


class _Line(str):
    """A line with a mark."""

    __slots__ = ()


class _Thread(threading.local):
    def __init__(self) -> None:
        self.last: tuple[Any, str] | None = None  # a reference to the wrapper, and the mark of its last line
        self.unused: list[_Line] = []  # since the last flush: lines that no kernel may follow yet


class _Marking(LatePatches):
    def __init__(self) -> None:
        self._thread = _Thread()
        super().__init__()

    def begin(self) -> None:
        self.when("torch._inductor.scheduler", self._mark_kernels)
        self.when("torch._inductor.codegen.cpp", self._mark_cpp_kernels)
        self.when("torch._inductor.codecache", self._part_fx_cache)
        self.when("torch._functorch._aot_autograd.autograd_cache", self._part_autograd_cache)

    # ---- lines ----

    def _mark_kernels(self, scheduler: Any) -> None:
        virtualized: Any = sys.modules["torch._inductor.virtualized"]

        def entering(original: Callable[..., Any]) -> Callable[..., Any]:
            @functools.wraps(original)
            def enter_context(of: Any, node: Any) -> Any:
                result = original(of, node)
                if self.active and type(node).__name__ != "NopKernelSchedulerNode":
                    self._mark(virtualized.V.graph, [node])
                return result

            return enter_context

        self.put(scheduler.Scheduler, "enter_context", entering)

    def _mark_cpp_kernels(self, cpp: Any) -> None:
        virtualized: Any = sys.modules["torch._inductor.virtualized"]

        def flushing(original: Callable[..., Any]) -> Callable[..., Any]:
            @functools.wraps(original)
            def flush(of: Any) -> Any:
                """Mark what was put off until now; what asked for it is marked already, and is next."""
                graph = virtualized.V.graph
                following = self._mark_put_off(graph, of) if self.active else None
                result = original(of)
                if following is not None:
                    self._write(graph, following)
                self._thread.unused = []
                return result

            return flush

        self.put(cpp.CppScheduling, "flush", flushing)

    def _mark_put_off(self, graph: Any, scheduling: Any) -> str | None:
        """Mark the kernels that were put off; return the mark that comes after them, None: there are none."""
        thread, before = self._thread, self._thread.last
        try:
            put_off = list(scheduling.kernel_group.scheduled_nodes)
            if not put_off or before is None:
                return None
            lines = before[0]().lines
            lines[:] = [line for line in lines if not any(line is unused for unused in thread.unused)]
        except Exception:  # another PyTorch
            return None
        thread.last = None
        self._mark(graph, put_off)
        return before[1]

    def _mark(self, graph: Any, scheduled: Iterable[Any]) -> None:
        try:
            nodes: dict[Any, None] = {}
            for node in scheduled:
                for part in node.get_nodes():
                    nodes.update(dict.fromkeys(_origins(part.node)))
            if nodes:
                is_backward, is_inference = getattr(graph, "is_backward", False), getattr(graph, "is_inference", True)
                kind = RECOMPUTE if is_backward else FORWARD
                self._write(graph, mark_of(_in_order(nodes), kind, may_be_backward=is_backward or is_inference))
        except Exception:  # another PyTorch
            return

    def _write(self, graph: Any, mark: str) -> None:
        try:
            self._write_line(graph, mark)
        except Exception:  # another PyTorch
            return

    def _write_line(self, graph: Any, mark: str) -> None:
        wrapper = graph.wrapper_code
        if graph.cpp_wrapper or getattr(graph, "aot_mode", False) or type(wrapper).__name__ not in _WRAPPERS:
            return
        thread = self._thread
        if thread.last is not None and thread.last[0]() is wrapper and thread.last[1] == mark:
            return
        root = wrapper
        while hasattr(root, "parent_wrapper"):
            root = root.parent_wrapper
        if not hasattr(root, "_joulemap"):
            root.header.writeline(_HEADER)
            root._joulemap = True
        if not hasattr(wrapper, "_joulemap_marked"):
            wrapper.writeline(_ENTER)
            wrapper._joulemap_marked = True
        line = _Line(f"_joulemap({mark!r})")
        wrapper.writeline(line)
        thread.last = (weakref.ref(wrapper), mark)
        thread.unused.append(line)

    # ---- caches ----

    def _part_fx_cache(self, codecache: Any) -> None:
        self.put(codecache, "compiled_fx_graph_hash", self._parting)

    def _part_autograd_cache(self, autograd_cache: Any) -> None:
        self.put(autograd_cache, "autograd_cache_key", self._parting)

    def _parting(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def key_of(graph: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(graph, *args, **kwargs)
            if not self.active:
                return result
            try:
                key, *rest = result
                return (key[:1] + _digest(graph if hasattr(graph, "graph") else graph.gm, key), *rest)
            except Exception:  # another PyTorch
                return result

        return key_of


def _origins(buffer: Any) -> Iterable[Any]:
    """Return the nodes of the graph that a buffer is computed from.

    A library's kernel is one of them, and has what it reads among its origins: that is not its work.
    """
    if buffer is None:
        return ()
    origins = buffer.get_origins() if hasattr(buffer, "get_origins") else buffer.origins
    if type(buffer).__name__ == "ComputedBuffer" or not origins:
        return origins  # type: ignore[no-any-return]
    exact = getattr(buffer, "origin_node", None)
    return (exact if exact is not None else _in_order(origins)[-1],)


def _in_order(nodes: Iterable[Any]) -> list[Any]:
    """As they stand in their graph: a set of them has no order."""
    found = list(nodes)
    graphs = {node.graph for node in found}
    places = {node: i for graph in graphs for i, node in enumerate(graph.nodes)}
    return sorted(found, key=lambda node: places.get(node, -1))


def _digest(graph: Any, key: str) -> str:
    digest = hashlib.sha256(f"{_FORM} {_HEADER} {_ENTER} {key}".encode())
    for node in graph.graph.nodes:
        digest.update(repr(_stack_of(node.meta)).encode())
    return digest.hexdigest()


_marking: list[_Marking] = []


def follow() -> None:
    """Mark what is compiled from now on."""
    _marking.append(_Marking())


def leave() -> None:
    """Mark nothing any more."""
    _marking.pop().end()
