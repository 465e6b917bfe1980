"""Whether what modules and names do is recorded at present; hooks stand aside where it is not.

A budget (and a schedule) has most steps go untraced. As a step begins, the core tells what it has decided.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable

from joulemap import _core

_TRACED = {_core.TRACING["warm"], _core.TRACING["on"]}


class Tracing:
    """What is recorded of this process.

    Attributes
    ----------
    on : bool
        Layers and names are, also where no session runs.
    turn : int
        How many times they began to be: what was open in an earlier turn is over.
    """

    def __init__(self) -> None:
        self.on = True
        self.turn = 0
        self._followers: tuple[Callable[[bool], object], ...] = ()

    def follow(self, follower: Callable[[bool], object]) -> None:
        """Tell `follower` when it changes, at the begin of the first step for which it holds."""
        self._followers += (follower,)

    def leave(self, follower: Callable[[bool], object]) -> None:
        """Tell it no longer."""
        self._followers = tuple(other for other in self._followers if other != follower)

    def begin_turn(self) -> None:
        """Let what is open on any thread be over: nobody who listened then listens now."""
        self.turn += 1

    def told(self, tracing: int) -> None:
        """Take note of one of `_core.TRACING`."""
        on = tracing in _TRACED
        if on == self.on:
            return
        self.on = on
        self.turn += on
        for follower in self._followers:
            follower(on)

    def told_in_child(self) -> None:
        """In a forked child all is traced, until the core says otherwise: a dormant one's first span asks it."""
        self.told(_core.TRACING["on"])
        _core.follow_tracing(self.told)


tracing = Tracing()
_core.follow_tracing(tracing.told)
os.register_at_fork(after_in_child=tracing.told_in_child)
atexit.register(_core.follow_tracing, None)  # a recorder that comes later finds no interpreter
