"""What each thread has open: shared by scopes, which unwind after an exception, and watched models."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from joulemap import _core

if TYPE_CHECKING:
    from joulemap.torch import Backward, Frame


class ThreadState:
    """Open spans of watched models on one thread.

    Attributes
    ----------
    frames : list[Frame]
        Module calls that run, the innermost last.
    backward : Backward or None
        The backward pass that this thread works at.
    backwards : list[Backward]
        Unfinished backward passes whose forward pass ran on this thread.
    """

    __slots__ = ("backward", "backwards", "frames")

    def __init__(self) -> None:
        self.frames: list[Frame] = []
        self.backward: Backward | None = None
        self.backwards: list[Backward] = []

    def unwind(self, depth: int) -> None:
        """Close the module calls deeper than `depth`, whose own end never came."""
        frames = self.frames
        while len(frames) > depth:
            _core.span_end(frames.pop().span)

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
    if not issubclass(exc_type, Exception):
        state.unwind(0)
    if not state.frames:
        state.finish_backwards()
