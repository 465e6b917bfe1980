"""Steps of this process as they begin and end, as reports count them: told ones, or those that are found."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Literal

from joulemap import _core
from joulemap._found import found

_BATCH = _core.SPAN_KINDS["batch"]

Follower = Callable[[_core.Span], None]


class _Steps:
    """Tells followers of steps that lie in no other one."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self._lock = threading.Lock()
        self._followers: tuple[Follower, ...] = ()
        self._open: dict[Literal["outermost"], _core.Span] = {}  # that one alone: `setdefault` needs no lock

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
            if span.kind == _BATCH and found.told:
                return
            if self._open.setdefault("outermost", span) is not span:
                return
        else:
            if self._open.get("outermost") is not span:
                return
            del self._open["outermost"]
            if span.kind == _BATCH and found.told:  # the program's own first step has just begun in it
                return
        for follower in self._followers:
            follower(span)


_steps = _Steps()
os.register_at_fork(after_in_child=_steps.leave_all)

follow = _steps.follow
"""Call a function with each step as it begins (`end_ns` is None) and ends, on the thread that does it."""
leave = _steps.leave
"""Call it no more."""
