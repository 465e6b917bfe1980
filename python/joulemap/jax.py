"""Layers of functions that JAX compiles, where XLA itself does not name them.

On a GPU it does (docs/python.md, "What are JAX's names?"), so `watch` is not needed there.
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
    """A function whose calls are spans; its attributes are those of the function."""

    def __init__(self, function: Callable[..., Any], name: str) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self._name = name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function inside of a span."""
        if not is_eager():
            return self._function(*args, **kwargs)
        number = _core.intern(self._name)
        span = _core.span_begin(_FUNCTION, number, number)
        try:
            return self._function(*args, **kwargs)
        finally:
            _core.span_end(span)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """Bind to an instance, like a function."""
        return self if instance is None else functools.partial(self, instance)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._function, name)


def watch(function: Callable[..., Any], name: str | None = None) -> Watched:
    """Make a layer of a function: each call is a span of kind "function", whether a session runs or not.

    While JAX traces an outer function, a call is part of that function and no span. If XLA names the same function,
    both share a row, and a call counts once.

    Parameters
    ----------
    function : callable
        Usually the result of `jax.jit`: `joulemap.jax.watch(jax.jit(step))`, or as a decorator above `@jax.jit`.
    name : str, optional
        Name of its row; by default the function's own name, as in XLA.

    Returns
    -------
    Watched
        The function to call instead. It has the attributes of the original: `lower`, `trace`, `clear_cache`, ...

    Raises
    ------
    TypeError
        If `function` is not callable, or `name` is no text.
    """
    if not callable(function):
        raise TypeError(f"watch() takes a function, not {function!r} ({type(function).__name__})")
    own: Any = getattr(function, "__name__", type(function).__name__)
    return Watched(function, _arguments.text("the name of a function", name) if name is not None else str(own))
