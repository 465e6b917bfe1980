"""Patches of modules that the program may import later, or never: to import them ourselves would cost seconds."""

from __future__ import annotations

import functools
import importlib.abc
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from joulemap._names import Patches


class _Finder(importlib.abc.MetaPathFinder):
    """Calls back before and once a module is imported."""

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
        except AttributeError:  # a loader of another kind
            return


def _nothing(_module: ModuleType) -> None:
    """Where nobody asks."""


class LatePatches(Patches):
    """Patches that are put once their module is there."""

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
        """Call `then` with the module of this name, now or when it is imported; `before` as that begins.

        `failed` in place of `then` where the import raises.
        """

        def told(call: Callable[[Any], None], module: ModuleType) -> None:
            if self.active:
                try:
                    call(module)
                except Exception:  # of another time: the program goes on without
                    return

        module = sys.modules.get(name)
        if module is not None and not getattr(module.__spec__, "_initializing", False):
            told(then, module)
        else:
            finder = _Finder(name, *(functools.partial(told, call) for call in (then, before, failed)))
            self._finders.append(finder)
            sys.meta_path.insert(0, finder)

    def end(self) -> None:
        """Put the originals back, and wait for no module any more."""
        for finder in self._finders:
            if finder in sys.meta_path:
                sys.meta_path.remove(finder)
        super().end()
