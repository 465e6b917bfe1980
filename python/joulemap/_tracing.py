"""Whether calls of modules and framework annotations are traced at present; hooks do nothing otherwise.

With a budget or a schedule most steps are untraced. The core decides when a step begins, and calls `update`.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable

from joulemap import _core

_TRACED = {_core.TRACING["warm"], _core.TRACING["on"]}


class Tracing:
    """The state of tracing in this process.

    Attributes
    ----------
    on : bool
        Whether calls and annotations are traced; also True without a session.
    generation : int
        Increases each time tracing begins: what was open in an earlier generation is over.
    """

    def __init__(self) -> None:
        self.on = True
        self.generation = 0
        self._followers: tuple[Callable[[bool], object], ...] = ()

    def follow(self, follower: Callable[[bool], object]) -> None:
        """Call `follower` with `on` when that changes, at the begin of the first step with the new state."""
        self._followers += (follower,)

    def leave(self, follower: Callable[[bool], object]) -> None:
        """Stop calling `follower`."""
        self._followers = tuple(other for other in self._followers if other != follower)

    def begin_generation(self) -> None:
        """Invalidate what is open on any thread."""
        self.generation += 1

    def update(self, tracing: int) -> None:
        """Change to one of `_core.TRACING`; the core calls it."""
        on = tracing in _TRACED
        if on == self.on:
            return
        self.on = on
        self.generation += on
        for follower in self._followers:
            follower(on)

    def reset_in_child(self) -> None:
        """Trace everything in a forked child, until the core decides otherwise."""
        self.update(_core.TRACING["on"])
        _core.follow_tracing(self.update)


tracing = Tracing()
_core.follow_tracing(tracing.update)
os.register_at_fork(after_in_child=tracing.reset_in_child)
atexit.register(_core.follow_tracing, None)  # a recorder may attach later, without an interpreter
