"""What each thread has open: shared by scopes, which unwind after an exception, and watched models."""

from __future__ import annotations

import sys
import threading
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

    def renew(self) -> None:
        """Close what was open when tracing stopped: nobody has told, or will tell, of its end."""
        self.turn = tracing.turn
        self.close_regions()
        end_optimizer_steps()
        self.unwind(0)
        self.finish_backwards()

    def close_stale(self, layer: Any) -> None:
        """Close calls of modules that are over, as `layer`, which is called now, is among those that are open.

        PyTorch tells hooks of no end that KeyboardInterrupt and its like make; what is still at work is on Python's
        own stack.
        """
        from joulemap._layer import layer_of

        running: Counter[Any] = Counter()
        frame: Any = sys._getframe()
        while frame is not None:
            if frame.f_code.co_name == "_call_impl":
                running[layer_of(frame.f_locals["self"])] += 1
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


optimizer_steps: dict[tuple[int, int], int] = {}
"""Spans of steps that are open, by the thread that makes them and the id of the optimizer."""


def end_optimizer_steps() -> None:
    """End those of this thread: the step raised, or it is told no longer."""
    here = threading.get_ident()
    for key in tuple(optimizer_steps):  # other threads begin theirs meanwhile
        if key[0] == here:
            _core.span_end(optimizer_steps.pop(key, 0))


class _Local(threading.local):
    def __init__(self) -> None:
        self.state = ThreadState()


local: Any = _Local()


def unwind(exc_type: type[BaseException]) -> None:
    """Close what an exception left open on this thread.

    PyTorch tells the hooks of a module that failed with an Exception, but not of KeyboardInterrupt and its
    like; and nobody tells of an optimizer's step that failed.
    """
    state: ThreadState = local.state
    state.close_regions()
    end_optimizer_steps()
    if not issubclass(exc_type, Exception):
        state.unwind(0)
