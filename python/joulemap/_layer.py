"""Layers: the watched modules of this process."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, cast

from torch import nn

from joulemap import _core, _inductor

if TYPE_CHECKING:
    from joulemap.torch import Watch

# The key of the global hooks. In the flags of a watched module it makes PyTorch pass keyword arguments to the pre-hook.
# PyTorch's own keys are numbers, so in a saved module this text means nothing.
KEY = "joulemap"
_FLAGS = "_forward_pre_hooks_with_kwargs"

# By the id of a module's flags, not of the module: replicas of nn.DataParallel share the flags.
layers: dict[int, Layer] = {}


class Layer(_core.Layer):
    """A watched module, with the name and type of its spans."""

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
        forget = layers.pop  # bound here: at the interpreter's end the globals go first
        self._flags = weakref.ref(flags, lambda _: forget(key, None))
        flags[KEY] = True
        layers[key] = self

    def rename(self, path: str) -> None:
        """Give the spans of later calls another path."""
        self.path = path
        self.name = _core.intern(path)

    def forget(self) -> None:
        """Unmark the module. Labels in graphs that still exist do nothing any more."""
        self.active = False
        flags = self._flags()
        if flags is not None:
            flags.pop(KEY, None)
            layers.pop(id(flags), None)

    def held(self) -> nn.Module | None:
        """Return the module itself, not torch.compile's wrapper; None if it is gone."""
        module = self.module()
        return None if module is None else cast(nn.Module, getattr(module, "_orig_mod", module))

    def cannot_label(self, error: BaseException) -> None:
        """Report that autograd nodes of a call have no labels."""
        self.watch.cannot_label(error)

    def check_compiled(self) -> None:
        """Note a compiled module that ran without spans inside: its code has no marks."""
        self.checked = True
        module = self.module()
        if module is not None and (is_compiled(module) or getattr(module, "_compiled_call_impl", None) is not None):
            self.watch.note_compiled(self.path)


def layer_of(module: nn.Module) -> Layer | None:
    """Return the layer of a module, or None if it is not watched."""
    return layers.get(id(module.__dict__.get(_FLAGS)))


def is_compiled(module: nn.Module) -> bool:
    """Return whether a module is torch.compile's wrapper. By name, as importing its class takes a second."""
    return type(module).__name__ == "OptimizedModule"
