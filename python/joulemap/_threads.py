"""The open spans of each thread: watched models open them, and scopes unwind them after an exception."""

from __future__ import annotations

import itertools
import sys
import threading
import time
import weakref
from collections import Counter
from typing import Any

from joulemap import _core
from joulemap._tracing import tracing


class ThreadState(_core.Thread):
    """Open spans of watched models on one thread."""

    __slots__ = ()

    def __init__(self) -> None:
        self.generation = tracing.generation

    def close_regions(self, depth: int = 0) -> None:
        """Close graphs of torch.compile deeper than `depth`."""
        while len(self.regions) > depth:
            opened = self.regions.pop()
            while opened:
                _core.span_end(opened.pop()[1])

    def now(self) -> ThreadState:
        """Return itself, without what was open in an earlier generation of tracing."""
        if self.generation < tracing.generation:
            self.renew()
        return self

    def renew(self) -> None:
        """Close what was open when tracing stopped: no hook will report its end."""
        self.generation = tracing.generation
        self.close_regions()
        optimizer_steps.end_here()
        self.unwind(0)
        self.finish_backwards()

    def close_stale(self, layer: Any) -> None:
        """Close calls of modules that are over; called when `layer` is called again while a call of it is open.

        PyTorch calls no hooks after KeyboardInterrupt. Calls that still run are on Python's own stack.
        """
        from torch import nn

        from joulemap._layer import layer_of

        running: Counter[Any] = Counter()
        frame: Any = sys._getframe()
        while frame is not None:
            module = frame.f_locals.get("self") if frame.f_code.co_name == "_call_impl" else None
            if isinstance(module, nn.Module):
                running[layer_of(module)] += 1
            frame = frame.f_back
        running[layer] -= 1
        opened: list[Any] = []
        call = self.frame
        while call is not None:
            opened.append(call)
            call = call.parent
        for call in reversed(opened):
            running[call.layer] -= 1
            if running[call.layer] < 0:
                self.unwind(call.depth)
                return

    def finish_backwards(self) -> None:
        """Close backward passes that an exception ended."""
        for backward in tuple(self.backwards):
            backward.finish()


class OptimizerSteps:
    """The open spans of optimizer steps, of all threads."""

    def __init__(self) -> None:
        self._open: dict[tuple[int, int], tuple[int, int]] = {}  # (thread, id of the optimizer) -> (span, begin)

    def begin(self, optimizer: object, kind: int, name: int) -> None:
        """Begin a step on this thread."""
        span = _core.span_begin(kind, name, name)
        self._open[threading.get_ident(), id(optimizer)] = (span, time.monotonic_ns())

    def end(self, optimizer: object) -> None:
        """End the step of this thread, if one is open."""
        self._close((threading.get_ident(), id(optimizer)))

    def end_here(self, since_ns: int = 0) -> None:
        """End the steps that this thread has begun since then: they raised, or tracing has stopped."""
        thread = threading.get_ident()
        for key, (_, begin_ns) in tuple(self._open.items()):  # copied: other threads may begin steps meanwhile
            if key[0] == thread and begin_ns >= since_ns:
                self._close(key)

    def end_all(self) -> None:
        """End the steps of all threads."""
        for key in tuple(self._open):
            self._close(key)

    def _close(self, key: tuple[int, int]) -> None:
        _core.span_end(self._open.pop(key, (0, 0))[0])


optimizer_steps = OptimizerSteps()


class _Local(threading.local):
    def __init__(self) -> None:
        self.state = ThreadState()


local: Any = _Local()


def unwind(exc_type: type[BaseException], since_ns: int = 0) -> None:
    """Close what an exception left open on this thread, inside of a scope that began at `since_ns`.

    PyTorch calls a module's hooks after an Exception, but not after KeyboardInterrupt, and no hook after a failed
    optimizer step.
    """
    state: ThreadState = local.state
    state.close_regions()
    optimizer_steps.end_here(since_ns)
    if not issubclass(exc_type, Exception):
        state.unwind(0)


_tasks: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
_numbers = itertools.count(1)


def task() -> int:
    """Return the number of the asyncio task that runs on this thread; 0 if there is none."""
    asyncio = sys.modules.get("asyncio")
    loop = asyncio and asyncio._get_running_loop()
    current = asyncio and loop and asyncio.current_task(loop)
    if not current:
        return 0
    return _tasks.get(current) or _tasks.setdefault(current, next(_numbers))
