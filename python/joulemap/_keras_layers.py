"""Layers and steps of eager Keras calls under `joulemap run`, on the backends tensorflow and jax.

Each call of the first model is a step, unless the program or a trainer marks steps. What Keras compiles (`fit`
without `run_eagerly=True`, `tf.function`, `jax.jit`) runs no Python: it has no layers but those that XLA names. On the
backend torch, Keras' layers are modules of PyTorch and found as such.
"""

from __future__ import annotations

import functools
import sys
import threading
import weakref
from collections.abc import Callable, Iterable
from typing import Any

from joulemap import _core
from joulemap._found_steps import found_steps
from joulemap._frameworks import frameworks
from joulemap._patches import Patches

_FORWARD = _core.SPAN_KINDS["forward"]
_KEY = "call of Keras"


def _has_symbols(values: Iterable[Any], symbol: type) -> bool:
    """Return whether a call only builds a model: an argument stands for data to come."""
    return any(
        _has_symbols(value.values() if isinstance(value, dict) else value, symbol)
        if isinstance(value, list | tuple | dict)
        else isinstance(value, symbol)
        for value in values
    )


def _type_of(layer: Any) -> str:
    """Return the class of a layer, with its outputs if it says how many: "Dense(64)"."""
    size = getattr(layer, "units", None) or getattr(layer, "filters", None)
    return f"{type(layer).__name__}({size})" if isinstance(size, int) else type(layer).__name__


class KerasLayers(Patches):
    """Spans of eager calls of layers, until `end()`.

    Parameters
    ----------
    keras : module
        Keras 3.
    """

    def __init__(self, keras: Any) -> None:
        self._keras = keras
        self._calls = threading.local()
        self._models: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()  # prefixes of their layers
        if keras.backend.backend() == "jax":
            from joulemap import _jax_annotations

            self._is_eager: Callable[[], bool] = _jax_annotations.is_eager
            _jax_annotations.followed_otherwise.add("keras")
        else:
            self._is_eager = sys.modules["tensorflow"].executing_eagerly
        super().__init__()

    def begin(self) -> None:
        """Follow the calls of all layers."""
        self.put(self._keras.layers.Layer, "__call__", self._calling)

    def end(self) -> None:
        """End the last step, and follow no more."""
        super().end()
        found_steps.end(_KEY)

    def _calling(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def call(layer: Any, *args: Any, **kwargs: Any) -> Any:
            paths = self._calls.__dict__.setdefault("paths", [])  # what begins the paths of layers in each open call
            depth = len(paths)
            span = self._enter(layer, paths, (*args, *kwargs.values())) if self.active else 0
            try:
                return original(layer, *args, **kwargs)
            finally:
                del paths[depth:]
                _core.span_end(span)

        return call

    def _enter(self, layer: Any, paths: list[str], values: tuple[Any, ...]) -> int:
        """Begin the span of a call; 0 if it does no work, or not now."""
        try:
            if not self._is_eager() or _has_symbols(values, self._keras.KerasTensor):
                return 0
            if paths:
                path = f"{paths[-1]}{layer.name}"
                inner = f"{path}."
            elif isinstance(layer, self._keras.Model) or layer.weights:  # else it belongs to what calls it
                path = layer.name
                inner = self._models.setdefault(layer, f"{path}." if self._models else "")
                if not inner:
                    self._begin_step()
            else:
                return 0
            span = _core.span_begin(_FORWARD, _core.intern(path), _core.intern(_type_of(layer)))
            paths.append(inner)
            return span
        except Exception:  # another version of Keras: the program goes on without layers
            self.end()
            return 0

    def _begin_step(self) -> None:
        """Begin a step by a call of the first model."""
        found_steps.end(_KEY)
        if frameworks.find_steps and not found_steps.has_others(_KEY):
            found_steps.begin(_KEY, _core.intern("forward pass"), 0, 0)
