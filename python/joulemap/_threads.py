"""What each thread has open: shared by scopes, which unwind after an exception, and watched models."""

from __future__ import annotations

import threading
from typing import Any, Generic, Protocol, TypeVar

from joulemap import _core
from joulemap._tracing import tracing


class OpenCall(Protocol):
    """A call of a layer that has begun and not ended."""

    span: int


class OpenPass(Protocol):
    """A backward pass that has begun and not ended."""

    def finish(self) -> None:
        """Close what is open of it."""


CallT = TypeVar("CallT", bound=OpenCall)
PassT = TypeVar("PassT", bound=OpenPass)


class ThreadState(Generic[CallT, PassT]):
    """Open spans of watched models on one thread.

    Attributes
    ----------
    frames : list of CallT
        Module calls that run, the innermost last.
    backward : PassT or None
        The backward pass that this thread works at.
    backwards : list of PassT
        Unfinished backward passes whose forward pass ran on this thread.
    regions : list of lists
        Of each graph of torch.compile that this thread runs, the innermost last: what is open of it, and its span.
    turn : int
        Of `tracing`, in which all that began.
    """

    __slots__ = ("backward", "backwards", "frames", "regions", "turn")

    def __init__(self) -> None:
        self.turn = tracing.turn
        self.frames: list[CallT] = []
        self.backward: PassT | None = None
        self.backwards: list[PassT] = []
        self.regions: list[list[tuple[Any, int]]] = []

    def close_regions(self, depth: int = 0) -> None:
        """Close graphs of torch.compile deeper than `depth`."""
        while len(self.regions) > depth:
            opened = self.regions.pop()
            while opened:
                _core.span_end(opened.pop()[1])

    def unwind(self, depth: int) -> None:
        """Close the module calls deeper than `depth`, whose own end never came."""
        frames = self.frames
        while len(frames) > depth:
            _core.span_end(frames.pop().span)

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
        self.state: ThreadState[Any, Any] = ThreadState()


local: Any = _Local()


def unwind(exc_type: type[BaseException]) -> None:
    """Close what an exception left open on this thread.

    PyTorch tells the hooks of a module that failed with an Exception, but not of KeyboardInterrupt and its
    like; and nobody tells of a backward pass that failed.
    """
    state: ThreadState[Any, Any] = local.state
    state.close_regions()
    if not issubclass(exc_type, Exception):
        state.unwind(0)
    if not state.frames:
        state.finish_backwards()
