"""What each thread has open: shared by scopes, which unwind after an exception, and watched models."""

from __future__ import annotations

import threading
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
        self.unwind(0)
        self.finish_backwards()

    def finish_backwards(self) -> None:
        """Close backward passes that an exception cut off."""
        for backward in tuple(self.backwards):
            backward.finish()


class _Local(threading.local):
    def __init__(self) -> None:
        self.state = ThreadState()


local: Any = _Local()


def unwind(exc_type: type[BaseException]) -> None:
    """Close what an exception left open on this thread.

    PyTorch tells the hooks of a module that failed with an Exception, but not of KeyboardInterrupt and its
    like; and nobody tells of a backward pass that failed.
    """
    state: ThreadState = local.state
    state.close_regions()
    if not issubclass(exc_type, Exception):
        state.unwind(0)
    if state.frame is None:
        state.finish_backwards()
