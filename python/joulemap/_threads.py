"""What each thread has open: shared by scopes, which unwind after an exception, and watched models."""

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
        self.turn = tracing.turn

    def close_regions(self, depth: int = 0) -> None:
        """Close graphs of torch.compile deeper than `depth`."""
        while len(self.regions) > depth:
            opened = self.regions.pop()
            while opened:
                _core.span_end(opened.pop()[1])

    def now(self) -> ThreadState:
        """Return itself as of this turn of tracing: what begins from here on is not taken for older."""
        if self.turn < tracing.turn:
            self.renew()
        return self

    def renew(self) -> None:
        """Close what was open when tracing stopped: nobody has told, or will tell, of its end."""
        self.turn = tracing.turn
        self.close_regions()
        optimizer_steps.end_here()
        self.unwind(0)
        self.finish_backwards()

    def close_stale(self, layer: Any) -> None:
        """Close calls of modules that are over, as `layer`, which is called now, is among those that are open.

        PyTorch tells hooks of no end that KeyboardInterrupt and its like make; what is still at work is on Python's
        own stack.
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
        each = self.frame
        while each is not None:
            opened.append(each)
            each = each.parent
        for each in reversed(opened):
            running[each.layer] -= 1
            if running[each.layer] < 0:
                self.unwind(each.depth)
                return

    def finish_backwards(self) -> None:
        """Close backward passes that an exception cut off."""
        for backward in tuple(self.backwards):
            backward.finish()


class OptimizerSteps:
    """Spans of optimizers' steps that are open, of all threads."""

    def __init__(self) -> None:
        self._open: dict[tuple[int, int], tuple[int, int]] = {}  # (thread, id of the optimizer) -> (span, begin)

    def begin(self, optimizer: object, kind: int, name: int) -> None:
        """Begin one on this thread."""
        span = _core.span_begin(kind, name, name)
        self._open[threading.get_ident(), id(optimizer)] = (span, time.monotonic_ns())

    def end(self, optimizer: object) -> None:
        """End one of this thread; none may be open."""
        self._close((threading.get_ident(), id(optimizer)))

    def end_here(self, since_ns: int = 0) -> None:
        """End those that this thread has begun since: they raised, or are told no longer."""
        here = threading.get_ident()
        for key, (_, begin_ns) in tuple(self._open.items()):  # other threads begin theirs meanwhile
            if key[0] == here and begin_ns >= since_ns:
                self._close(key)

    def end_all(self) -> None:
        """End those of all threads."""
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
    """Close what an exception left open on this thread, of a scope that began then.

    PyTorch tells the hooks of a module that failed with an Exception, but not of KeyboardInterrupt and its
    like; and nobody tells of an optimizer's step that failed.
    """
    state: ThreadState = local.state
    state.close_regions()
    optimizer_steps.end_here(since_ns)
    if not issubclass(exc_type, Exception):
        state.unwind(0)


_tasks: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
_numbers = itertools.count(1)


def task() -> int:
    """Return the number of the task of asyncio that runs on this thread, 0 if none does."""
    asyncio = sys.modules.get("asyncio")
    loop = asyncio and asyncio._get_running_loop()
    now = asyncio and loop and asyncio.current_task(loop)
    if not now:
        return 0
    return _tasks.get(now) or _tasks.setdefault(now, next(_numbers))
