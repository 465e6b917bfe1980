"""Functions that JAX compiles, as layers: where XLA does not say so itself.

On a GPU it does (docs/python.md, "What are JAX's names?"), so there nothing has to be told.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from joulemap import _arguments, _core
from joulemap._jax_annotations import is_eager

__all__ = ["Watched", "watch"]

_FUNCTION = _core.SPAN_KINDS["function"]


class Watched:
    """A function whose calls are spans; all else is the function's own."""

    def __init__(self, function: Callable[..., Any], name: str) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self._name = name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it, in a span of its own."""
        if not is_eager():
            return self._function(*args, **kwargs)
        number = _core.intern(self._name)
        span = _core.span_begin(_FUNCTION, number, number)
        try:
            return self._function(*args, **kwargs)
        finally:
            _core.span_end(span)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """Be a method as the function is one."""
        return self if instance is None else functools.partial(self, instance)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._function, name)


def watch(function: Callable[..., Any], name: str | None = None) -> Watched:
    """Make a layer of a function: each call is a span of kind "function", whether a session runs or not.

    Under another function that JAX traces it is a part of that one, and no span. Where XLA names the same
    function, both are one row, and a call is one call.

    Parameters
    ----------
    function : callable
        What `jax.jit` gave, mostly: `joulemap.jax.watch(jax.jit(step))`, or as a decorator above `@jax.jit`.
    name : str, optional
        What its row is called; without it the function's own name, as XLA calls it.

    Returns
    -------
    Watched
        To be called in the function's place. `lower`, `trace`, `clear_cache` and the like are the function's.

    Raises
    ------
    TypeError
        If it cannot be called, or the name is no text.
    """
    if not callable(function):
        raise TypeError(f"watch() takes a function, not {function!r} ({type(function).__name__})")
    own: Any = getattr(function, "__name__", type(function).__name__)
    return Watched(function, _arguments.text("the name of a function", name) if name is not None else str(own))
