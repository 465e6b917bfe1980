"""Layers: watched modules, by what is known of them where they are called."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, cast

from torch import nn

from joulemap import _core, _inductor

if TYPE_CHECKING:
    from joulemap.torch import Watch

# A watched module has it in its flags, which is how it asks a pre-hook of all modules, whose key it is, for keyword
# arguments; a text, as no number of another hook is, so in a saved module it means nothing.
KEY = "joulemap"
_FLAGS = "_forward_pre_hooks_with_kwargs"

# By the id of its flags, not of the module: replicas that nn.DataParallel makes have a module's own.
layers: dict[int, Layer] = {}


class Layer(_core.Layer):
    """A watched module: the name, type and watch of its calls."""

    __slots__ = ("_flags", "module", "path", "watch")
    inner: Layer | None

    def __init__(self, watch: Watch, module: nn.Module, path: str, type_text: str) -> None:
        self.watch = watch
        self.module = weakref.ref(module)
        self.path = path
        self.name = _core.intern(path)
        self.type = _core.intern(type_text)
        self.active = True
        _inductor.forget_at_end(self.held())
        flags = module.__dict__[_FLAGS]
        key = id(flags)
        forget = layers.pop  # at the interpreter's end the module's names go before it is called
        self._flags = weakref.ref(flags, lambda _: forget(key, None))
        flags[KEY] = True
        layers[key] = self

    def rename(self, path: str) -> None:
        """Let calls from now on be those of another path."""
        self.path = path
        self.name = _core.intern(path)

    def forget(self) -> None:
        """Take away what marks the module as watched. Labels that live on in an old graph do nothing any more."""
        self.active = False
        flags = self._flags()
        if flags is not None:
            flags.pop(KEY, None)
            layers.pop(id(flags), None)

    def held(self) -> nn.Module | None:
        """Return the module itself, not what torch.compile made of it."""
        module = self.module()
        return None if module is None else cast(nn.Module, getattr(module, "_orig_mod", module))

    def cannot_label(self, error: BaseException) -> None:
        """Take note that autograd nodes of a call have no labels."""
        self.watch.cannot_label(error)

    def look_at_compiled(self) -> None:
        """Note a compiled module that ran without a span inside: there was no record of what its code came from."""
        self.looked = True
        module = self.module()
        if module is not None and (is_compiled(module) or getattr(module, "_compiled_call_impl", None) is not None):
            self.watch.tell(self.path)


def layer_of(module: nn.Module) -> Layer | None:
    """Return the layer that a module is, if it is watched."""
    return layers.get(id(module.__dict__.get(_FLAGS)))


def is_compiled(module: nn.Module) -> bool:
    """Is it what `torch.compile(module)` gives? By name: its class comes with a package that loads for a second."""
    return type(module).__name__ == "OptimizedModule"
