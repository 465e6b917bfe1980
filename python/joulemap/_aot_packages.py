"""Spans of AOTInductor packages: they run without Python, so each has one row."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any

from joulemap import _core
from joulemap._patches import LatePatches

_FORWARD = _core.SPAN_KINDS["forward"]
_NAME = "AOTInductor package"


class _Following(LatePatches):
    def __init__(self) -> None:
        self._names: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        super().__init__()

    def begin(self) -> None:
        self.when("torch.export.pt2_archive._package", self._follow)  # PyTorch 2.8
        self.when("torch._inductor.package.package", self._follow)

    def _follow(self, module: Any) -> None:
        cls = module.AOTICompiledModel
        if cls.__module__ == module.__name__:  # not imported from the other module
            self.put(cls, "__call__", self._calling)

    def _calling(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def call(model: Any, *args: Any, **kwargs: Any) -> Any:
            if not self.active:
                return original(model, *args, **kwargs)
            span = _core.span_begin(_FORWARD, self._name_of(model))
            try:
                return original(model, *args, **kwargs)
            finally:
                _core.span_end(span)

        return call

    def _name_of(self, model: Any) -> int:
        name = self._names.get(model)
        if name is None:
            count = len(self._names)
            name = self._names[model] = _core.intern(f"{_NAME} {count + 1}" if count else _NAME)
        return name


_following: list[_Following] = []


def follow() -> None:
    """Make a span of each call of a package from now on."""
    _following.append(_Following())


def leave() -> None:
    """Stop making spans."""
    _following.pop().end()
