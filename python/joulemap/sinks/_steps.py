"""Steps of this process as they begin and end, as reports count them: marked ones, else found ones."""

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
    """Calls followers with each step that is not inside of another step of its thread or task."""

    def __init__(self) -> None:
        self._lock = Lock()
        self.reset()

    def reset(self) -> None:
        self._followers: tuple[Follower, ...] = ()
        self._open: dict[int, list[tuple[int, _core.Span]]] = {}  # by thread: tasks and steps in order of their begin

    def follow(self, follower: Follower) -> None:
        with self._lock:
            self._followers += (follower,)
            _core.follow_steps(self._on_step)

    def leave(self, follower: Follower) -> None:
        with self._lock:
            self._followers = tuple(other for other in self._followers if other != follower)
            if not self._followers:
                _core.follow_steps(None)
                self._open.clear()

    def leave_all(self) -> None:
        _core.follow_steps(None)
        self.reset()

    def _on_step(self, span: _core.Span) -> None:
        if span.end_ns is None:
            if span.kind == _BATCH and found_steps.marked:
                return
            opened = self._open.setdefault(threading.get_ident(), [])
            opened.append((task(), span))
            if _is_inner(opened, len(opened) - 1):
                return
        else:
            if not self._remove(span):
                return
            if span.kind == _BATCH and found_steps.marked:  # the first marked step has just begun inside of it
                return
        for follower in self._followers:
            follower(span)

    def _remove(self, span: _core.Span) -> bool:
        """Remove a step that has ended, perhaps on another thread; return whether it was an outermost one."""
        for thread, opened in tuple(self._open.items()):
            for position, (_, other) in enumerate(opened):
                if other is span:
                    inner = _is_inner(opened, position)
                    opened.pop(position)
                    if not opened:
                        self._open.pop(thread, None)
                    return not inner
        return False


def _is_inner(opened: list[tuple[int, _core.Span]], position: int) -> bool:
    """Return whether an earlier step of the same task is open; task 0 matches all."""
    own = opened[position][0]
    return any(0 in (other, own) or other == own for other, _ in opened[:position])


_steps = _Steps()
os.register_at_fork(after_in_child=_steps.leave_all)

follow = _steps.follow
"""Call a function with each step when it begins (`end_ns` is None) and ends, on the thread of the step."""
leave = _steps.leave
"""Stop calling a function."""
