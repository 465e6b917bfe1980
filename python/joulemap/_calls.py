"""How calls of modules are heard of while somebody watches.

In the place of `nn.Module.__call__`: a callable of the core (`_core_calls.c`), which costs half a microsecond. Or by
hooks of all modules of the process, with which PyTorch takes the slower way through a call, 5 us in all: once
torch.compile has been given anything, as what it compiles of modules depends on both; and where somebody else has
put something in that place. Neither is in a module's own state: it would be copied, pickled and scripted with it,
and `torch.cuda.make_graphed_callables` would refuse the module.

In steps that are not traced there is neither, so that PyTorch calls modules as if nobody watched; hooks that compiled
code is guarded by stay, and do nothing.
"""

from __future__ import annotations

import threading
import types
import warnings
from typing import Any, cast

import torch
from torch import nn
from torch.nn.modules import module as _all_modules

from joulemap import _core, _labels
from joulemap._backward import Frame
from joulemap._dynamo import Compiling, is_compiling, may_have_compiled
from joulemap._layer import KEY, is_compiled, layer_of, layers
from joulemap._threads import local
from joulemap._tracing import tracing

_GLOBAL_HOOKS = r"Using `torch\.compile\(module\)` when there are global hooks"
# From Python 3.13 on a class that was changed a thousand times has its attributes looked up without a cache, for good.
_MOST_CHANGES = 400

_pytorchs: Any = vars(nn.Module).get("_wrapped_call_impl", nn.Module._call_impl)

calls = _core.Calls(
    wrapped=_pytorchs,
    bind=types.MethodType,
    layers=layers,
    local=local,
    frame=Frame,
    graph_task=torch._C._current_graph_task_id,
    queue_callback=torch.autograd.Variable._execution_engine.queue_callback,
    is_grad_enabled=torch.is_grad_enabled,
    tensor=torch.Tensor,
    parts=_labels.parts,
)


def _enter(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> None:
    """Forward pre-hook of all modules. Only one that is watched, or a copy of it, gives its keyword arguments."""
    if is_compiling() or not tracing.on:  # in this order: code that is compiled must not depend on the second
        return
    layer = None
    if kwargs is not None:
        layer = layer_of(module)
    elif is_compiled(module):
        inner = layer_of(cast(nn.Module, module._orig_mod))
        layer = None if inner is None else inner.watch.add_compiled(module, inner)
    if layer is not None:
        calls.enter(layer, args, kwargs)


def _leave(module: nn.Module, _args: Any, output: Any) -> None:
    """Forward hook of all modules, also called when forward raised."""
    if is_compiling() or not tracing.on:
        return
    layer = layer_of(module)
    if layer is not None:
        calls.leave(layer, output)


FUNCTIONS = (_enter, _leave, layer_of, is_compiled, _labels.parts)


def _put_hooks() -> None:
    # Keys of our own, the same each time: compiled code is guarded by them.
    _all_modules._global_forward_hooks[KEY] = _leave  # type: ignore[index]
    _all_modules._global_forward_hooks_always_called[KEY] = True  # type: ignore[index]
    _all_modules._global_forward_pre_hooks[KEY] = _enter  # type: ignore[index]


def _take_hooks() -> None:
    _all_modules._global_forward_pre_hooks.pop(KEY, None)  # type: ignore[call-overload]
    _all_modules._global_forward_hooks.pop(KEY, None)  # type: ignore[call-overload]
    _all_modules._global_forward_hooks_always_called.pop(KEY, None)  # type: ignore[call-overload]


calls.turn, calls.traced = tracing.turn, tracing.on


class Hearing:
    """Which way is taken.

    Attributes
    ----------
    compiled : bool
        Something was compiled while there was a watch: hooks stay, as code that is compiled is guarded by those that it
        was compiled with.
    asked : bool
        torch.compile was given something, then or before.
    lock : RLock
        Of all that changes with watches.
    """

    def __init__(self) -> None:
        self.compiled = False
        self.asked = False
        self.lock = threading.RLock()
        self._looking = 0  # how many times torch.compile is at looking at nn.Module
        self._active = False
        self._changes = 0  # of nn.Module
        self._compiling: Compiling | None = None
        self._filter: Any = None

    def begin(self) -> None:
        """Hear of calls from now on."""
        with self.lock:
            self._active = True
            self._looking = 0
            tracing.begin_turn()  # threads may have been inside of a model when the last watch ended
            self.asked = self.asked or may_have_compiled()
            self._compiling = Compiling(self)
            # The second call of which it warns is the one by which a compiled module is known: Watch.add_compiled.
            warnings.filterwarnings("ignore", _GLOBAL_HOOKS, UserWarning)
            self._filter = warnings.filters[0]
            self.show()

    def end(self) -> None:
        """Hear of none any more, and leave all as it was."""
        with self.lock:
            self._active = False
            if self._compiling is not None:
                self._compiling.end()
            if self._filter in warnings.filters:
                cast(list[Any], warnings.filters).remove(self._filter)
            _take_hooks()
            self._take_call()

    def show(self) -> None:
        """Take the way that is right as things are."""
        with self.lock:
            calls.turn, calls.traced = tracing.turn, tracing.on
            if not self._active:
                return
            traced, looks = tracing.on, self._looking > 0
            hooked = self.compiled or (traced and self.asked)
            quick = traced and not hooked and not looks and self._put_call()
            if hooked or (traced and not quick and not looks):
                _put_hooks()
            elif not looks:  # for that while: no call may begin with them and end without
                _take_hooks()
            if hooked or looks or (not quick and self._changes < _MOST_CHANGES):
                self._take_call()
            calls.on = quick

    def _put_call(self) -> bool:
        """Put ours in the place of PyTorch's own, and in nobody else's."""
        there = vars(nn.Module)["__call__"]
        if there is _pytorchs:
            self._set_call(calls)
        return there is _pytorchs or there is calls

    def _take_call(self) -> None:
        """Put PyTorch's own back. Ours stays where somebody else's is around it, and only asks PyTorch's."""
        calls.on = False
        if vars(nn.Module)["__call__"] is calls:
            self._set_call(_pytorchs)

    def _set_call(self, call: Any) -> None:
        nn.Module.__call__ = call  # type: ignore[method-assign]
        self._changes += 1

    # ---- what torch.compile does: _dynamo.Listener ----

    def looks(self, begins: bool) -> None:
        """Let it find PyTorch's own."""
        with self.lock:
            self._looking = max(0, self._looking + (1 if begins else -1))
            self.show()

    def asked_for(self) -> None:
        """Use hooks from now on: torch.compile has been given something."""
        with self.lock:
            self.asked = True
            self.show()

    def compiles(self) -> None:
        """Keep the hooks from now on, also in steps that are not traced."""
        with self.lock:
            self.compiled = True
            self.show()


hearing = Hearing()
