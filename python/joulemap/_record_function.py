"""Spans of blocks that a PyTorch program names with `torch.profiler.record_function`.

Its `__enter__` and `__exit__` are wrapped while a session runs. TorchScript compiles them from source, and finds
the originals through `__wrapped__`. In compiled code PyTorch itself leaves record_function out.

PyTorch also names its own work this way (optimizer steps, waits for data loaders, DistributedDataParallel,
compilation). That has spans already or is no layer, so blocks that PyTorch's own code enters are ignored.

Autograd runs the backward pass of a GPU in a thread of its own. The open ranges of the calling thread are repeated
there, so that `with record_function("backward"): loss.backward()` includes what the pass launches.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, NamedTuple

import torch
from torch.autograd.profiler import record_function

from joulemap import _core
from joulemap._dynamo import leave_alone
from joulemap._patches import Patches
from joulemap._threads import local
from joulemap._tracing import tracing

_NVTX = _core.SPAN_KINDS["nvtx"]
_CARRIED = _core.SPAN_KINDS["carried"]
_span_begin = _core.span_begin
_span_end = _core.span_end


class _Range(NamedTuple):
    block: Any
    name: int
    span: int


class _Thread(threading.local):
    """The ranges of this thread that are open, the innermost last."""

    def __init__(self) -> None:
        self.ranges: list[_Range] = []


class _Following(Patches):
    def __init__(self) -> None:
        self._thread = _Thread()
        super().__init__()

    def begin(self) -> None:
        self.put(record_function, "__enter__", self._entering)
        self.put(record_function, "__exit__", self._exiting)
        if hasattr(torch.autograd, "_engine_run_backward"):  # PyTorch 2.3
            self.put(torch.autograd, "_engine_run_backward", self._running_backward)

    def put(self, owner: Any, name: str, make: Callable[[Any], Any]) -> None:
        super().put(owner, name, make)
        leave_alone(vars(owner)[name])

    def _entering(self, original: Callable[[Any], Any]) -> Callable[[Any], Any]:
        @functools.wraps(original)
        def enter(block: Any) -> Any:
            entered = original(block)
            if self.active and tracing.on and not sys._getframe(1).f_globals.get("__name__", "").startswith("torch."):
                name = _core.intern(block.name)
                self._thread.ranges.append(_Range(block, name, _span_begin(_NVTX, name)))
            return entered

        return enter

    def _exiting(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def leave(
            block: Any,
            exc_type: type[BaseException] | None,
            exc_value: BaseException | None,
            traceback: TracebackType | None,
        ) -> Any:
            ranges = self._thread.ranges
            for i in reversed(range(len(ranges))):  # not always the last one: coroutines of a thread alternate
                if ranges[i].block is block:
                    _span_end(ranges.pop(i).span)
                    break
            return original(block, exc_type, exc_value, traceback)

        return leave

    def _running_backward(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def run(outputs: Sequence[Any], *args: Any, **kwargs: Any) -> Any:
            ranges = self._thread.ranges
            if not ranges or not (self.active and tracing.on) or _compiles_backward():
                return original(outputs, *args, **kwargs)
            carried = _Carried(ranges)
            try:
                carried.put_at(outputs)
                return original(outputs, *args, **kwargs)
            finally:
                carried.close()

        return run


def _compiles_backward() -> bool:
    """Whether the pass is compiled: then a hook would fail to compile, and no other thread takes part."""
    module = sys.modules.get("torch._dynamo.compiled_autograd")
    return bool(getattr(module, "compiled_autograd_enabled", False))


class _Carried:
    """The ranges around a backward pass, repeated on the autograd threads that run it."""

    def __init__(self, ranges: list[_Range]) -> None:
        self._names = [opened.name for opened in ranges]
        self._threads = {threading.get_ident()}
        self._spans: list[int] = []
        self._handles: list[Any] = []

    def put_at(self, outputs: Sequence[Any]) -> None:
        """Add prehooks to the nodes at which the pass begins, to learn their threads."""
        for output in outputs:
            node = output.grad_fn if isinstance(output, torch.Tensor) else getattr(output, "node", None)
            if node is not None:
                self._handles.append(node.register_prehook(self._open))

    def _open(self, _gradients: Any) -> None:
        thread, backward = threading.get_ident(), local.state.backward
        if thread in self._threads or (backward is not None and not backward.done):  # layers must stay the inner spans
            return
        self._threads.add(thread)
        self._spans.extend(_span_begin(_CARRIED, name) for name in self._names)

    def close(self) -> None:
        """End the ranges: the pass is over."""
        for handle in self._handles:
            handle.remove()
        while self._spans:
            _span_end(self._spans.pop())


for _function in (_compiles_backward, _Carried.__init__, _Carried.put_at, _Carried._open, _Carried.close):
    leave_alone(_function)

_following: list[_Following] = []


def follow() -> None:
    """Make spans of named blocks from now on."""
    _following.append(_Following())


def leave() -> None:
    """Stop making spans."""
    _following.pop().end()
