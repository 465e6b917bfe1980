"""Patches of other packages, for as long as a session runs."""

from __future__ import annotations

import functools
import importlib.abc
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


class Patches:
    """Replaced attributes of another package, until `end()`.

    A program may keep a reference to a replacement, so replacements check `active`.
    """

    def __init__(self) -> None:
        self.active = True
        self._put: list[tuple[Any, str, Any, Any]] = []
        try:
            self.begin()
        except BaseException:  # leave no half of the patches behind
            self.end()
            raise

    def begin(self) -> None:
        """Put all patches; subclasses override it."""

    def put(self, owner: Any, name: str, make: Callable[[Any], Any]) -> None:
        """Replace an attribute by what `make` returns for the original."""
        inherited = name not in vars(owner)
        original = getattr(owner, name)
        ours = make(original)
        setattr(owner, name, ours)
        self._put.append((owner, name, None if inherited else original, ours))

    def end(self) -> None:
        """Restore the originals."""
        self.active = False
        for owner, name, original, ours in self._put:
            if vars(owner).get(name) is not ours:
                continue  # another tool has wrapped ours, which only forwards from now on
            if original is None:
                delattr(owner, name)
            else:
                setattr(owner, name, original)


class _Finder(importlib.abc.MetaPathFinder):
    """Calls back before and after a module is imported."""

    def __init__(
        self,
        name: str,
        then: Callable[[ModuleType], None],
        before: Callable[[ModuleType], None],
        failed: Callable[[ModuleType], None],
    ) -> None:
        self._name = name
        self._then = then
        self._before = before
        self._failed = failed

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None, /
    ) -> ModuleSpec | None:
        if name != self._name:
            return None
        for finder in sys.meta_path:
            spec = None if finder is self or not hasattr(finder, "find_spec") else finder.find_spec(name, path, target)
            if spec is None:
                continue
            if spec.loader is not None:
                self._call_back_from(spec.loader)
            return spec
        return None

    def _call_back_from(self, loader: Any) -> None:
        execute = getattr(loader, "exec_module", None)
        if execute is None:
            return

        def exec_module(module: ModuleType) -> None:
            self._before(module)
            try:
                execute(module)
            except BaseException:
                self._failed(module)
                raise
            self._then(module)

        try:
            loader.exec_module = exec_module
        except AttributeError:  # a loader with read-only attributes
            return


def _nothing(_module: ModuleType) -> None:
    """Do nothing."""


class LatePatches(Patches):
    """Patches that wait until the program imports a module: importing it ourselves would cost seconds."""

    def __init__(self) -> None:
        self._finders: list[_Finder] = []
        super().__init__()

    def when(
        self,
        name: str,
        then: Callable[[Any], None],
        before: Callable[[Any], None] = _nothing,
        failed: Callable[[Any], None] = _nothing,
    ) -> None:
        """Call `then` with the module of this name, now or once it is imported.

        `before` is called when the import begins, `failed` in place of `then` if it raises.
        """

        def guarded(call: Callable[[Any], None], module: ModuleType) -> None:
            if self.active:
                try:
                    call(module)
                except Exception:  # another version of the module: the program goes on unpatched
                    return

        module = sys.modules.get(name)
        if module is not None and not getattr(module.__spec__, "_initializing", False):
            guarded(then, module)
        else:
            finder = _Finder(name, *(functools.partial(guarded, call) for call in (then, before, failed)))
            self._finders.append(finder)
            sys.meta_path.insert(0, finder)

    def end(self) -> None:
        """Restore the originals, and wait for no module any more."""
        for finder in self._finders:
            if finder in sys.meta_path:
                sys.meta_path.remove(finder)
        super().end()
