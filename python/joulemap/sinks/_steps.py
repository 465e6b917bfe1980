"""Steps of this process as they begin and end, as reports count them: told ones, or those that are found."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

from joulemap import _core
from joulemap._found_steps import found_steps
from joulemap._locks import Lock
from joulemap._threads import task

_BATCH = _core.SPAN_KINDS["batch"]

Follower = Callable[[_core.Span], None]


class _Steps:
    """Tells followers of steps that lie in no other one of their thread or task."""

    def __init__(self) -> None:
        self._lock = Lock()
        self.reset()

    def reset(self) -> None:
        self._followers: tuple[Follower, ...] = ()
        self._open: dict[int, list[tuple[int, _core.Span]]] = {}  # by thread, with their tasks, in order of their begin

    def follow(self, follower: Follower) -> None:
        with self._lock:
            self._followers += (follower,)
            _core.follow_steps(self._tell)

    def leave(self, follower: Follower) -> None:
        with self._lock:
            self._followers = tuple(other for other in self._followers if other != follower)
            if not self._followers:
                _core.follow_steps(None)
                self._open.clear()

    def leave_all(self) -> None:
        _core.follow_steps(None)
        self.reset()

    def _tell(self, span: _core.Span) -> None:
        if span.end_ns is None:
            if span.kind == _BATCH and found_steps.marked:
                return
            here = self._open.setdefault(threading.get_ident(), [])
            here.append((task(), span))
            if _is_inner(here, len(here) - 1):
                return
        else:
            if not self._take_out(span):
                return
            if span.kind == _BATCH and found_steps.marked:  # the program's own first step has just begun in it
                return
        for follower in self._followers:
            follower(span)

    def _take_out(self, span: _core.Span) -> bool:
        """Forget one that has ended, perhaps on another thread; tell whether none that began before it goes on."""
        for thread, opened in tuple(self._open.items()):
            for place, (_, other) in enumerate(opened):
                if other is span:
                    inner = _is_inner(opened, place)
                    opened.pop(place)
                    if not opened:
                        self._open.pop(thread, None)
                    return not inner
        return False


def _is_inner(opened: list[tuple[int, _core.Span]], place: int) -> bool:
    """Tell whether one that began before it goes on, which is of no other task."""
    own = opened[place][0]
    return any(0 in (other, own) or other == own for other, _ in opened[:place])


_steps = _Steps()
os.register_at_fork(after_in_child=_steps.leave_all)

follow = _steps.follow
"""Call a function with each step as it begins (`end_ns` is None) and ends, on the thread that does it."""
leave = _steps.leave
"""Call it no more."""
