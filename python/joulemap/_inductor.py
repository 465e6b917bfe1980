"""Marks in the code that Inductor generates: which modules of the model each kernel comes from.

While a session runs, Inductor's wrapper code gets a line before each kernel: a call with a text that names the
modules whose nodes the kernel computes. `_compiled.py` turns it into spans. The text is in the generated code, so
code from a cache keeps its marks. Without a session the call is `str(text)`, also in a process without joulemap.

In a session no cached graph without marks may be used, nor that of other modules with equal code. So the keys of the
caches of Inductor and AOTAutograd then include the paths of the modules.

A kernel belongs to the innermost module that has all of its nodes. If some are in its submodules, the kernel is
fused and has a row of its own there, named after its parts. Views do no work and do not count.

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

from joulemap._patches import LatePatches

FORWARD, BACKWARD, RECOMPUTE = "forward", "backward", "recompute"

_HEADER = "_joulemap_modules = __import__('sys').modules"
_ENTER = "_joulemap = getattr(_joulemap_modules.get('joulemap._compiled'), 'enter', lambda: str)()"
_WRAPPERS = {"WrapperCodeGen", "PythonWrapperCodegen", "SubgraphWrapperCodeGen", "SubgraphPythonWrapperCodegen"}
_MAX_PARTS = 3  # in the name of a fused row
_MAX_LETTERS = 96
_FORMAT = "joulemap 2"  # of the marks; part of the cache keys
# Constants and views: no kernel's work.
_NO_WORK = {"full", "scalar_tensor", "empty", "getitem", "reshape", "_reshape_alias", "inductor_lookup_seed"}
_ROOT = re.compile(r"[LG]\[(?:'[^']*'|\"[^\"]*\")\]")
_COMPONENT = re.compile(r"\.?([A-Za-z_0-9]+)|\[['\"]?([^\]'\"]+)['\"]?\]")


class Module(NamedTuple):
    """A module as Dynamo names it: a variable of the compiled function, the path from there, the class."""

    root: str
    path: str
    type: str


Stack = tuple[Module, ...]

# Modules that were compiled in this process: ids by name, and names by id.
_ids: dict[Module, set[int]] = {}
_names: dict[int, set[Module]] = {}
_watched: dict[int, weakref.ref[Any]] = {}


def id_of(module: Module) -> int | None:
    """Return the id of the compiled module of this name; None if there are none or several."""
    ids = tuple(_ids.get(module, ()))  # copied: a module may end meanwhile
    return ids[0] if len(ids) == 1 else None


def was_compiled(number: int) -> bool:
    """Return whether a module of this id was compiled in this process."""
    return number in _names


def forget_at_end(module: Any) -> None:
    """Forget the id of a watched module when it ends, because a new module may get the same id.

    The id of a module that is compiled and never watched is not forgotten.
    """
    number = id(module)
    known = _watched.get(number)
    if known is not None and known() is module:
        return
    watched, names, ids = _watched, _names, _ids  # bound here: at the interpreter's end the globals go first

    def end(_: weakref.ref[Any]) -> None:
        watched.pop(number, None)
        for name in names.pop(number, ()):
            ids[name].discard(number)

    _watched[number] = weakref.ref(module, end)


@functools.lru_cache(4096)
def _split(text: str) -> tuple[str, str]:
    """Return the variable and the path from it: ``L['self'].blocks[0].attn`` is ``blocks.0.attn`` of L['self']."""
    root = _ROOT.match(text)
    rest = text[root.end() :] if root else "." + text
    components = ["".join(found) for found in _COMPONENT.findall(rest)]
    path = ".".join(part for part in components if part not in ("_orig_mod", "_modules"))
    return root.group() if root else "", path


def _stack_of(meta: dict[str, Any]) -> Stack:
    modules = []
    stack = meta.get("nn_module_stack") or meta.get("fwd_nn_module_stack") or {}
    for key, (text, cls) in stack.items():
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
    """Whether a node is backward work; what is recomputed in the backward pass counts as forward."""
    meta = node.meta
    if meta.get("nn_module_stack"):
        return False
    return meta.get("partitioner_tag") == "is_backward" or "autograd_backward" in meta or "fwd_nn_module_stack" in meta


def _is_known(node: Any) -> bool:
    """Whether a node has a module: sums of gradients, and what Inductor's passes insert, have none."""
    return bool(_stack_of(node.meta)) or not (_is_backward(node) or "stack_trace" not in node.meta)


def _join_bounded(words: Sequence[str], joint: str) -> str:
    text = joint.join(words[:_MAX_PARTS]) + (
        f"{joint}{len(words) - _MAX_PARTS} more" if len(words) > _MAX_PARTS else ""
    )
    return text if len(text) <= _MAX_LETTERS else text[: _MAX_LETTERS - 3] + "..."


def _part_name(module: Module, prefix: str, with_root: bool) -> str:
    """Return the name of a part of a fused row. It has no dots, which would separate levels of rows."""
    name = module.path.removeprefix(prefix)
    if with_root or not name:  # parts of several models, or a whole model
        name = ".".join(part for part in ("".join(re.findall(r"\w+", module.root[1:])), name) if part)
    return name.replace(".", "/")


def mark_of(nodes: Iterable[Any], kind: str, *, may_be_backward: bool) -> str:
    """Return the mark of a kernel that computes these nodes of a graph.

    Parameters
    ----------
    nodes : iterable of torch.fx.Node
        In their order.
    kind : str
        Kind of the forward nodes.
    may_be_backward : bool
        Whether one backward node makes the kernel backward work. False for a forward graph, which may compute early
        what the backward pass needs.
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
        prefix = common[-1].path + "." if common and common[-1].path else ""
        roots = {stack[0].root for stack in stacks if stack}
        names = [
            operation if stack == common else _part_name(stack[-1], prefix, len(roots) > 1)
            for stack, operation in parts.items()
        ]
        types = [operation if stack == common else stack[-1].type for stack, operation in parts.items()]
        name = "fused " + _join_bounded(list(dict.fromkeys(names)), " + ")
        type_ = "fused(" + _join_bounded(list(dict.fromkeys(types)), ", ") + ")"
    return json.dumps([kind, common, name, type_], separators=(",", ":"))


class _Line(str):
    """A line of generated code that is a mark."""

    __slots__ = ()


class _Thread(threading.local):
    def __init__(self) -> None:
        self.last: tuple[Any, str] | None = None  # a reference to the wrapper, and the mark of its last line
        self.unused: list[_Line] = []  # lines since the last flush, which no kernel follows yet


class _Marking(LatePatches):
    def __init__(self) -> None:
        self._thread = _Thread()
        super().__init__()

    def begin(self) -> None:
        self.when("torch._inductor.scheduler", self._mark_kernels)
        self.when("torch._inductor.codegen.cpp", self._mark_cpp_kernels)
        self.when("torch._inductor.codecache", self._separate_fx_cache)
        self.when("torch._functorch._aot_autograd.autograd_cache", self._separate_autograd_cache)

    # ---- lines ----

    def _mark_kernels(self, scheduler: Any) -> None:
        virtualized: Any = sys.modules["torch._inductor.virtualized"]

        def entering(original: Callable[..., Any]) -> Callable[..., Any]:
            @functools.wraps(original)
            def enter_context(self_: Any, node: Any) -> Any:
                result = original(self_, node)
                if self.active and type(node).__name__ != "NopKernelSchedulerNode":
                    self._mark(virtualized.V.graph, [node])
                return result

            return enter_context

        self.put(scheduler.Scheduler, "enter_context", entering)

    def _mark_cpp_kernels(self, cpp: Any) -> None:
        virtualized: Any = sys.modules["torch._inductor.virtualized"]

        def flushing(original: Callable[..., Any]) -> Callable[..., Any]:
            @functools.wraps(original)
            def flush(scheduling: Any) -> Any:
                """Mark the deferred kernels before they are written, and repeat the mark of the next kernel after."""
                graph = virtualized.V.graph
                following = self._mark_deferred(graph, scheduling) if self.active else None
                result = original(scheduling)
                if following is not None:
                    self._write(graph, following)
                self._thread.unused = []
                return result

            return flush

        self.put(cpp.CppScheduling, "flush", flushing)

    def _mark_deferred(self, graph: Any, scheduling: Any) -> str | None:
        """Mark the deferred kernels; return the mark that follows them, or None if there are none."""
        thread, last = self._thread, self._thread.last
        try:
            deferred = list(scheduling.kernel_group.scheduled_nodes)
            if not deferred or last is None:
                return None
            lines = last[0]().lines
            lines[:] = [line for line in lines if not any(line is unused for unused in thread.unused)]
        except Exception:  # another version of PyTorch
            return None
        thread.last = None
        self._mark(graph, deferred)
        return last[1]

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
        except Exception:  # another version of PyTorch
            return

    def _write(self, graph: Any, mark: str) -> None:
        try:
            self._write_line(graph, mark)
        except Exception:  # another version of PyTorch
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

    def _separate_fx_cache(self, codecache: Any) -> None:
        self.put(codecache, "compiled_fx_graph_hash", self._with_modules)

    def _separate_autograd_cache(self, autograd_cache: Any) -> None:
        self.put(autograd_cache, "autograd_cache_key", self._with_modules)

    def _with_modules(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def key_of(graph: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(graph, *args, **kwargs)
            if not self.active:
                return result
            try:
                key, *rest = result
                return (key[:1] + _digest(graph if hasattr(graph, "graph") else graph.gm, key), *rest)
            except Exception:  # another version of PyTorch
                return result

        return key_of


def _origins(buffer: Any) -> Iterable[Any]:
    """Return the nodes of the graph that a buffer is computed from.

    The origins of a library's kernel include its inputs, which it does not compute.
    """
    if buffer is None:
        return ()
    origins = buffer.get_origins() if hasattr(buffer, "get_origins") else buffer.origins
    if type(buffer).__name__ == "ComputedBuffer" or not origins:
        return origins  # type: ignore[no-any-return]
    exact = getattr(buffer, "origin_node", None)
    return (exact if exact is not None else _in_order(origins)[-1],)


def _in_order(nodes: Iterable[Any]) -> list[Any]:
    """Return nodes in the order of their graph."""
    unordered = list(nodes)
    graphs = {node.graph for node in unordered}
    positions = {node: i for graph in graphs for i, node in enumerate(graph.nodes)}
    return sorted(unordered, key=lambda node: positions.get(node, -1))


def _digest(graph: Any, key: str) -> str:
    digest = hashlib.sha256(f"{_FORMAT} {_HEADER} {_ENTER} {key}".encode())
    for node in graph.graph.nodes:
        digest.update(repr(_stack_of(node.meta)).encode())
    return digest.hexdigest()


_marking: list[_Marking] = []


def follow() -> None:
    """Mark what is compiled from now on."""
    _marking.append(_Marking())


def leave() -> None:
    """Stop marking."""
    _marking.pop().end()
