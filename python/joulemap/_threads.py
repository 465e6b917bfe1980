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


class _Unwind:
    """The view that a Scope has of its thread."""

    @staticmethod
    def depth() -> int:
        return len(local.state.frames)

    @staticmethod
    def to(depth: int) -> None:
        state: ThreadState = local.state
        state.unwind(depth)
        if depth == 0:
            state.finish_backwards()


unwind = _Unwind()
