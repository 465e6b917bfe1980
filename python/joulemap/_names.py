"""Names that a program gives its own work for other tools: while a session runs, they are spans."""

from __future__ import annotations

import importlib
import sys
from typing import Protocol, cast


class Follower(Protocol):
    """A module that follows the names of a framework."""

    def follow(self) -> None:
        """Begin."""

    def leave(self) -> None:
        """End: what was put in the place of the framework's own is taken away."""


# A framework, and the module here that follows it.
_FOLLOWERS = {
    "torch": "joulemap._record_function",
}


class Names:
    """Which frameworks are followed: those that the program has imported, none without a session."""

    def __init__(self) -> None:
        self._active = False
        self._followed: dict[str, Follower] = {}

    def begin(self) -> None:
        """Follow what is there; a session starts."""
        self._active = True
        self.look()

    def look(self) -> None:
        """Follow what the program has imported since."""
        if not self._active or len(self._followed) == len(_FOLLOWERS):
            return
        for framework, module in _FOLLOWERS.items():
            if framework in self._followed or not _is_whole(framework):
                continue
            follower = cast(Follower, importlib.import_module(module))
            self._followed[framework] = follower
            follower.follow()

    def end(self) -> None:
        """Leave all of them; the session is over."""
        self._active = False
        while self._followed:
            self._followed.popitem()[1].leave()


def _is_whole(framework: str) -> bool:
    """Whether it is imported, to its end: another thread may be at it."""
    spec = getattr(sys.modules.get(framework), "__spec__", None)
    return spec is not None and not getattr(spec, "_initializing", False)


names = Names()
