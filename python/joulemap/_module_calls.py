"""How calls of modules are traced while a model is watched: in one of two ways.

A callable of the core (`_core_calls.c`) replaces `nn.Module.__call__`, at half a microsecond per call. Or there are
global module hooks, which make PyTorch take its slower path, 5 us in all. Hooks are used once torch.compile was used,
as compiled code depends on both, and if another tool has replaced `__call__`. Neither is in a module's own state: it
would be copied, pickled and scripted, and `torch.cuda.make_graphed_callables` would refuse the module.

In untraced steps there is neither, so they cost nothing, but for programs whose steps are found by calls. Hooks that
guard compiled code stay, and do nothing.
"""

from __future__ import annotations

import dataclasses
import threading
import types
import warnings
from collections.abc import Mapping
from typing import Any, cast

import torch
from torch import nn
from torch.nn.modules import module as _all_modules

from joulemap import _core
from joulemap._backward import Frame
from joulemap._dynamo import CompileObserver, call_uncompiled, is_compiling, may_have_compiled
from joulemap._layer import KEY, Layer, is_compiled, layer_of, layers
from joulemap._threads import local
from joulemap._tracing import tracing

_GLOBAL_HOOKS = r"Using `torch\.compile\(module\)` when there are global hooks"
# From Python 3.13 on, a class that was changed a thousand times loses its attribute cache for good.
_MOST_CHANGES = 400

_original_call: Any = vars(nn.Module).get("_wrapped_call_impl", nn.Module._call_impl)


def container_values(value: Any) -> list[Any] | None:
    """Return the values of a mapping or a dataclass; None for anything else."""
    if isinstance(value, Mapping):
        return list(value.values())
    if dataclasses.is_dataclass(value):
        return [getattr(value, field.name, None) for field in dataclasses.fields(value)]
    return None


calls = _core.Calls(
    wrapped=_original_call,
    bind=types.MethodType,
    layers=layers,
    local=local,
    frame=Frame,
    graph_task=torch._C._current_graph_task_id,
    queue_callback=torch.autograd.Variable._execution_engine.queue_callback,
    is_grad_enabled=torch.is_grad_enabled,
    tensor=torch.Tensor,
    parts=container_values,
)


def _enter(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> None:
    """Forward pre-hook of all modules. `kwargs` is None unless the module, or what it was copied from, is watched."""
    if is_compiling():
        return
    layer = None if calls.entered is None else _announce(module, args, kwargs)
    if not tracing.on:  # after is_compiling(): compiled code must not depend on it
        return
    if kwargs is not None:
        layer = layer_of(module)
    elif layer is None and is_compiled(module):
        inner = layer_of(cast(nn.Module, module._orig_mod))
        layer = None if inner is None else inner.watch.add_compiled(module, inner)
    if layer is not None:
        calls.enter(layer, args, kwargs)


def _announce(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> Layer | None:
    """Watch an outermost module, and find steps by its calls, under `joulemap run`. Return its layer if it is new."""
    layer = layer_of(module)
    if layer is None and is_compiled(module):
        layer = layer_of(cast(nn.Module, module._orig_mod))
    new = layer_of(module) if layer is None and tracing.on and call_uncompiled(calls.offer, module) else None
    layer = layer or new
    if layer is not None:
        call_uncompiled(calls.announce, layer, args, kwargs)
    return new


def _leave(module: nn.Module, _args: Any, output: Any) -> None:
    """Forward hook of all modules, also called when forward raised."""
    if is_compiling() or not tracing.on:
        return
    layer = layer_of(module)
    if layer is not None:
        calls.leave(layer, output)


FUNCTIONS = (_enter, _announce, call_uncompiled, _leave, layer_of, is_compiled, container_values)


def _put_hooks() -> None:
    # The keys are the same each time: they guard compiled code.
    _all_modules._global_forward_hooks[KEY] = _leave  # type: ignore[index]
    _all_modules._global_forward_hooks_always_called[KEY] = True  # type: ignore[index]
    _all_modules._global_forward_pre_hooks[KEY] = _enter  # type: ignore[index]


def _remove_hooks() -> None:
    _all_modules._global_forward_pre_hooks.pop(KEY, None)  # type: ignore[call-overload]
    _all_modules._global_forward_hooks.pop(KEY, None)  # type: ignore[call-overload]
    _all_modules._global_forward_hooks_always_called.pop(KEY, None)  # type: ignore[call-overload]


calls.generation, calls.traced = tracing.generation, tracing.on


class CallTracing:
    """Chooses how calls are traced: by the core's callable, by hooks, or not at all.

    Attributes
    ----------
    compiled : bool
        Something was compiled during a watch: hooks stay, because compiled code is guarded by them.
    requested : bool
        torch.compile was called, then or earlier.
    lock : RLock
        Guards all state of watches.
    """

    def __init__(self) -> None:
        self.compiled = False
        self.requested = False
        self.lock = threading.RLock()
        self._inspections = 0  # how often torch.compile currently inspects nn.Module, nested
        self._active = False
        self._changes = 0  # of nn.Module.__call__
        self._observer: CompileObserver | None = None
        self._filter: Any = None

    def begin(self) -> None:
        """Trace calls from now on."""
        with self.lock:
            self._active = True
            self._inspections = 0
            tracing.begin_generation()  # threads may have been inside of a model when the last watch ended
            self.requested = self.requested or may_have_compiled()
            self._observer = CompileObserver(self)
            # PyTorch warns of a second call: the one by which Watch.add_compiled recognizes a compiled module.
            warnings.filterwarnings("ignore", _GLOBAL_HOOKS, UserWarning)
            self._filter = warnings.filters[0]
            self.apply()

    def end(self) -> None:
        """Trace calls no longer, and restore PyTorch."""
        with self.lock:
            self._active = False
            if self._observer is not None:
                self._observer.end()
            if self._filter in warnings.filters:
                cast(list[Any], warnings.filters).remove(self._filter)
            _remove_hooks()
            self._restore_call()

    def apply(self) -> None:
        """Switch to the way that fits the present state."""
        with self.lock:
            calls.generation, calls.traced = tracing.generation, tracing.on
            if not self._active:
                return
            # Steps of the program's own loop are found by calls, also while nothing is traced.
            traced, inspected = tracing.on or calls.entered is not None, self._inspections > 0
            hooked = self.compiled or (traced and self.requested)
            direct = traced and not hooked and not inspected and self._put_call()
            if hooked or (traced and not direct and not inspected):
                _put_hooks()
            elif not inspected:  # hooks stay during an inspection: no call may begin with them and end without
                _remove_hooks()
            if hooked or inspected or (not direct and self._changes < _MOST_CHANGES):
                self._restore_call()
            calls.on = direct and tracing.on

    def _put_call(self) -> bool:
        """Replace PyTorch's own `__call__`; return False if another tool has replaced it."""
        current = vars(nn.Module)["__call__"]
        if current is _original_call:
            self._set_call(calls)
        return current is _original_call or current is calls

    def _restore_call(self) -> None:
        """Restore PyTorch's `__call__`. If another tool has wrapped ours, ours stays and only forwards."""
        calls.on = False
        if vars(nn.Module)["__call__"] is calls:
            self._set_call(_original_call)

    def _set_call(self, call: Any) -> None:
        nn.Module.__call__ = call  # type: ignore[method-assign]
        self._changes += 1

    # ---- _dynamo.Listener ----

    def on_inspect(self, begins: bool) -> None:
        """Show torch.compile PyTorch's own `__call__` during an inspection."""
        with self.lock:
            self._inspections = max(0, self._inspections + (1 if begins else -1))
            self.apply()

    def on_request(self) -> None:
        """Use hooks from now on."""
        with self.lock:
            self.requested = True
            self.apply()

    def on_compile(self) -> None:
        """Keep the hooks from now on, also in untraced steps."""
        with self.lock:
            self.compiled = True
            self.apply()


call_tracing = CallTracing()
