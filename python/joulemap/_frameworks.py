"""Frameworks whose own annotations and calls become spans while a session runs."""

from __future__ import annotations

import importlib
import sys
from typing import Protocol, cast


class Follower(Protocol):
    """A module of this package that follows a framework."""

    def follow(self) -> None:
        """Patch the framework, so that spans are made from now on."""

    def leave(self) -> None:
        """Restore the framework."""


# Follower modules, and the module of the framework that each one needs.
_FOLLOWERS = {
    "joulemap._record_function": "torch",
    "joulemap._collectives": "torch.distributed.distributed_c10d",
    "joulemap._functional_collectives": "torch.distributed._functional_collectives",
    "joulemap._inductor": "torch",
    "joulemap._aot_packages": "torch",
    "joulemap._jax_annotations": "jax",
}


class Frameworks:
    """The frameworks that the program has imported, followed while a session runs.

    Attributes
    ----------
    find_steps : bool
        Whether a session runs in which a framework's own steps count as steps if the program marks none.
    """

    def __init__(self) -> None:
        self.find_steps = False
        self._active = False
        self._followed: dict[str, Follower | None] = {}

    def begin(self, find_steps: bool) -> None:
        """Follow the frameworks that are imported; a session starts."""
        self.find_steps = find_steps
        self._active = True
        self.update()

    def update(self, imported: str = "") -> None:
        """Follow frameworks that the program has imported since, and the one that is just being imported."""
        if not self._active or len(self._followed) == len(_FOLLOWERS):
            return
        for module, framework in _FOLLOWERS.items():
            if module in self._followed or not (framework == imported or _is_imported(framework)):
                continue
            self._followed[module] = None
            try:
                follower = cast(Follower, importlib.import_module(module))
                follower.follow()
            except Exception:  # another version of the framework: the program goes on without its spans
                continue
            self._followed[module] = follower

    def end(self) -> None:
        """Restore all frameworks; the session is over."""
        self._active = self.find_steps = False
        while self._followed:
            follower = self._followed.popitem()[1]
            if follower is not None:
                follower.leave()


def _is_imported(module: str) -> bool:
    """Whether a module is imported completely: another thread may be importing it."""
    spec = getattr(sys.modules.get(module), "__spec__", None)
    return spec is not None and not getattr(spec, "_initializing", False)


frameworks = Frameworks()
