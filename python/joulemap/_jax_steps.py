"""Steps of a plain JAX loop under `joulemap run`: calls of a function that the program compiles with `jax.jit`.

A step lasts from one call of the loop's function to the next. The loop's function is the first that takes an array that
it returned itself: a training's state, a decoder's cache. Until there is one, it is the first that is called for the
third time with the same shapes. Functions called within its first steps are parts of a step. Another one later (an
evaluation) begins steps of its own, until the loop's function is called again. Steps that the program marks always win.

Calls return before their work is done, so a step's time is the host's: in a loop that runs ahead of the GPU the first
steps are shorter than their work. Nothing is synchronised for their sake.
"""

from __future__ import annotations

import atexit
import functools
import threading
import types
import weakref
from collections.abc import Callable
from typing import Any

import jax

from joulemap import _core
from joulemap._found_steps import found_steps
from joulemap._frameworks import frameworks
from joulemap._jax_annotations import is_eager
from joulemap._patches import Patches

_KEY = "call of JAX"
_LEARNT = 3  # calls of the loop's function, after which it is known what belongs to a step
_REPEATS = 2  # of a loop: what prepares it may be called twice
_MOST_LOOKS = 100  # at arguments, while no function returns what it takes


class _Compiled:
    """A compiled function whose calls are noticed; its attributes are those of the function."""

    def __init__(self, function: Callable[..., Any], follower: JaxSteps) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self._follower = follower
        self.name = str(getattr(function, "__name__", type(function).__name__))
        self.shapes: object = None  # of the last arguments that were looked at
        self.repeats = 0  # of these shapes
        self.returned: list[weakref.ref[Any]] = []
        self.is_elsewhere = False  # on the CPU, where a GPU does the work

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function; as a call of the program unless JAX traces it."""
        if not self._follower.notices(self):
            return self._function(*args, **kwargs)
        self._follower.before(self, (args, kwargs))
        result = self._function(*args, **kwargs)
        self._follower.after(self, result)
        return result

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """Bind to an instance, like a function."""
        return self if instance is None else types.MethodType(self, instance)

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Copy and pickle the function alone: another process may know nothing of joulemap."""
        return self._function.__reduce_ex__(protocol)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._function, name)


class JaxSteps(Patches):
    """Finds steps by calls of compiled functions, until `end()`."""

    def begin(self) -> None:
        """Replace what compiles functions."""
        self._thread = threading.get_ident()
        self._leader: _Compiled | None = None  # the loop's function
        self._carries = False  # whether it takes what it returned
        self._calls = 0  # of the leader
        self._parts: set[_Compiled] = set()  # functions that are called within its steps
        self._guest: _Compiled | None = None  # whose calls are steps until the leader's next call
        self._looks = 0
        atexit.register(self.end)  # what comes after the program is no part of its last step
        for name in ("jit", "pmap"):
            self.put(jax, name, self._compiling)

    def end(self) -> None:
        """End the last step, and find no more."""
        atexit.unregister(self.end)
        super().end()
        found_steps.end(_KEY)

    def _compiling(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def compiling(*args: Any, **kwargs: Any) -> Any:
            made = original(*args, **kwargs)
            if not self.active or not callable(made):
                return made
            if args or "fun" in kwargs:
                return _Compiled(made, self)
            return lambda function: _Compiled(made(function), self)  # options alone make a decorator

        return compiling

    def notices(self, function: _Compiled) -> bool:
        """Return whether a call is one of the program's own loop, and its steps are looked for."""
        return (
            self.active
            and frameworks.find_steps
            and not function.is_elsewhere
            and threading.get_ident() == self._thread
            and is_eager()
        )

    def before(self, function: _Compiled, arguments: Any) -> None:
        """Begin a step if this call does."""
        try:
            if found_steps.has_others(_KEY):
                found_steps.end(_KEY)
            elif self._begins_step(function, arguments):
                found_steps.end(_KEY)
                found_steps.begin(_KEY, _core.intern(f"call of {function.name}"), 0, 0)
        except Exception:  # another version of JAX: the program goes on without steps
            self.end()

    def _begins_step(self, function: _Compiled, arguments: Any) -> bool:
        if function is self._leader:
            self._calls += 1
            self._guest = None
            return True
        if not self._carries and self._looks < _MOST_LOOKS and self._may_lead(function, arguments):
            self._leader, self._calls, self._guest = function, 1, None
            self._parts.clear()
            return True
        if self._leader is None or function in self._parts:
            return False
        if self._calls < _LEARNT:
            self._parts.add(function)
            return False
        if self._guest is None:
            self._guest = function
        return function is self._guest

    def _may_lead(self, function: _Compiled, arguments: Any) -> bool:
        """Return whether a function takes what it returned; without a leader also whether it is called a third time."""
        self._looks += 1
        leaves = jax.tree_util.tree_leaves(arguments)
        returned = {id(array) for ref in function.returned if (array := ref()) is not None}
        self._carries = any(id(leaf) in returned for leaf in leaves)
        shapes = [(getattr(leaf, "shape", None), str(getattr(leaf, "dtype", type(leaf)))) for leaf in leaves]
        function.repeats = function.repeats + 1 if shapes == function.shapes else 0
        function.shapes = shapes
        return self._carries or (self._leader is None and function.repeats >= _REPEATS)

    def after(self, function: _Compiled, result: Any) -> None:
        """Keep what a function returned, without keeping it alive, while no function takes what it returned."""
        if self._carries or self._looks >= _MOST_LOOKS:
            return
        try:
            arrays = [leaf for leaf in jax.tree_util.tree_leaves(result) if isinstance(leaf, jax.Array)]
            function.returned = [weakref.ref(array) for array in arrays]
            on = {device.platform for device in arrays[0].devices()} if arrays else set()
            function.is_elsewhere = on == {"cpu"} and jax.default_backend() != "cpu"
        except Exception:
            self.end()
