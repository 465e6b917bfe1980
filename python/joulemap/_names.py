"""Names that a program gives its own work for other tools: while a session runs, they are spans."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any, Protocol, cast


class Patches:
    """What is put in the place of a framework's own, for one session: somebody may keep it beyond."""

    def __init__(self) -> None:
        self.active = True
        self._put: list[tuple[Any, str, Any, Any]] = []
        try:
            self.begin()
        except BaseException:  # what was put until then would stay for ever
            self.end()
            raise

    def begin(self) -> None:
        """Put all of it."""

    def put(self, owner: Any, name: str, make: Callable[[Any], Any]) -> None:
        """Put what `make` gives, of what is there, in its place."""
        inherited = name not in vars(owner)
        original = getattr(owner, name)
        ours = make(original)
        setattr(owner, name, ours)
        self._put.append((owner, name, None if inherited else original, ours))

    def end(self) -> None:
        """Put the framework's own back."""
        self.active = False
        for owner, name, original, ours in self._put:
            if vars(owner).get(name) is not ours:
                continue  # somebody has put theirs around it, which now asks in vain
            if original is None:
                delattr(owner, name)
            else:
                setattr(owner, name, original)


class Follower(Protocol):
    """A module that follows the names of a framework."""

    def follow(self) -> None:
        """Begin."""

    def leave(self) -> None:
        """End: what was put in the place of the framework's own is taken away."""


# Modules here, and the framework that they follow.
_FOLLOWERS = {
    "joulemap._record_function": "torch",
    "joulemap._collectives": "torch.distributed.distributed_c10d",
    "joulemap._functional": "torch.distributed._functional_collectives",
    "joulemap._inductor": "torch",
    "joulemap._packages": "torch",
    "joulemap._annotations": "jax",
}


class Names:
    """Which frameworks are followed: those that the program has imported, none without a session.

    Attributes
    ----------
    find_steps : bool
        What a framework calls a step is one, where the program tells none.
    """

    def __init__(self) -> None:
        self.find_steps = False
        self._active = False
        self._followed: dict[str, Follower | None] = {}

    def begin(self, find_steps: bool) -> None:
        """Follow what is there; a session starts."""
        self.find_steps = find_steps
        self._active = True
        self.look()

    def look(self) -> None:
        """Follow what the program has imported since."""
        if not self._active or len(self._followed) == len(_FOLLOWERS):
            return
        for module, framework in _FOLLOWERS.items():
            if module in self._followed or not _is_whole(framework):
                continue
            self._followed[module] = None
            try:
                follower = cast(Follower, importlib.import_module(module))
                follower.follow()
            except Exception:  # something else of that name, or of another time: it has none, and the program goes on
                continue
            self._followed[module] = follower

    def end(self) -> None:
        """Leave all of them; the session is over."""
        self._active = False
        while self._followed:
            follower = self._followed.popitem()[1]
            if follower is not None:
                follower.leave()


def _is_whole(framework: str) -> bool:
    """Whether it is imported, to its end: another thread may be at it."""
    spec = getattr(sys.modules.get(framework), "__spec__", None)
    return spec is not None and not getattr(spec, "_initializing", False)


names = Names()
