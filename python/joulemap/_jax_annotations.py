"""Spans of names in eager JAX code: `jax.named_scope` and the annotations of `jax.profiler`.

`TraceAnnotation` and `named_scope` are ranges. `StepTraceAnnotation` is a step unless the program marks its own steps.
There are no spans while JAX traces a function, as no work is done then, nor of annotations in JAX's own code.
XLA itself names its compiled kernels through NVTX (src/inject/xla.h).
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import jax
import jax.profiler
from jax.profiler import annotate_function

from joulemap import _core
from joulemap._found_steps import found_steps
from joulemap._frameworks import frameworks
from joulemap._patches import Patches

_NVTX = _core.SPAN_KINDS["nvtx"]
_STEP = "StepTraceAnnotation"
_NAME = "_joulemap_name"
_OPEN = "_joulemap_open"

followed_otherwise: set[str] = set()
"""Packages whose scopes are no ranges: their layers are spans already."""


def _find_is_eager() -> Callable[[], bool]:
    """Return JAX's function for whether no trace is active; if it is missing, all code counts as eager."""
    core = getattr(getattr(jax, "_src", None), "core", None)
    clean: Callable[[], bool] = getattr(core, "trace_state_clean", lambda: True)
    return clean


is_eager = _find_is_eager()


def _is_jaxs(frame: FrameType) -> bool:
    """Whether JAX's own code enters an annotation. With `annotate_function`, the function's module decides."""
    module = frame.f_globals.get("__name__", "")
    if module == annotate_function.__module__:
        module = getattr(frame.f_locals.get("func"), "__module__", None) or ""
    return str(module).startswith("jax.")


class _Scope:
    """Wraps a `jax.named_scope` in a span; a context manager and a decorator."""

    def __init__(self, make: Callable[[str], Any], name: str) -> None:
        self._make = make
        self._name = name
        self._open: list[tuple[Any, int]] = []

    def __enter__(self) -> Any:
        scope = self._make(self._name)
        entered = scope.__enter__()
        self._open.append((scope, _core.span_begin(_NVTX, _core.intern(self._name)) if is_eager() else 0))
        return entered

    def __exit__(self, *exc: Any) -> Any:
        scope, span = self._open.pop()
        _core.span_end(span)
        return scope.__exit__(*exc)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with _Scope(self._make, self._name):
                return function(*args, **kwargs)

        return call


class _Following(Patches):
    def begin(self) -> None:
        annotation = jax.profiler.TraceAnnotation
        self.put(jax, "named_scope", self._scoping)
        self.put(annotation, "__init__", self._making)
        self.put(annotation, "__enter__", self._entering)
        self.put(annotation, "__exit__", self._exiting)

    def _scoping(self, original: Callable[[str], Any]) -> Callable[[str], Any]:
        @functools.wraps(original)
        def named_scope(name: str) -> Any:
            package = str(sys._getframe(1).f_globals.get("__name__")).partition(".")[0]
            follows = self.active and isinstance(name, str) and package not in followed_otherwise
            return _Scope(original, name) if follows else original(name)

        return named_scope

    def _making(self, original: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(original)
        def make(annotation: Any, name: str, **values: Any) -> None:
            original(annotation, name, **values)
            setattr(annotation, _NAME, name)

        return make

    def _entering(self, original: Callable[[Any], Any]) -> Callable[[Any], Any]:
        @functools.wraps(original)
        def enter(annotation: Any) -> Any:
            entered = original(annotation)
            name = getattr(annotation, _NAME, None)
            if not self.active or not isinstance(name, str) or not is_eager() or _is_jaxs(sys._getframe(1)):
                return entered
            if (
                isinstance(annotation, jax.profiler.StepTraceAnnotation)
                and frameworks.find_steps
                and not found_steps.marked
            ):
                found_steps.begin(id(annotation), _core.intern(_STEP), 0, 0)
            else:
                setattr(annotation, _OPEN, _core.span_begin(_NVTX, _core.intern(name)))
            return entered

        return enter

    def _exiting(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def leave(annotation: Any, *exc: Any) -> Any:
            _core.span_end(annotation.__dict__.pop(_OPEN, 0))
            found_steps.end(id(annotation))
            return original(annotation, *exc)

        return leave


_following: list[_Following] = []


def follow() -> None:
    """Make spans of names from now on."""
    _following.append(_Following())


def leave() -> None:
    """Stop making spans."""
    _following.pop().end()
