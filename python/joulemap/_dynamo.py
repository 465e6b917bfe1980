"""What torch.compile does, and how it is kept from compiling joulemap's own functions."""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable
from typing import Any, Protocol

import torch

from joulemap._patches import LatePatches

is_compiling: Callable[[], bool] = getattr(torch.compiler, "is_dynamo_compiling", bool)


def _set(code: types.CodeType, action: str) -> None:
    frames: Any = torch._C._dynamo.eval_frame
    if hasattr(frames, "set_code_exec_strategy"):  # PyTorch 2.7
        actions = frames._FrameAction
        frames.set_code_exec_strategy(code, frames._FrameExecStrategy(getattr(actions, action), actions.DEFAULT))
    elif action == "DEFAULT":
        frames.reset_code(code)
    elif hasattr(frames, "skip_code"):  # 2.1
        frames.skip_code(code)


def leave_alone(function: Any) -> None:
    """Make torch.compile run a function uncompiled where it is called between graphs.

    A compiled hook would do nothing, because `is_dynamo_compiling` is true in it. This adds no graph breaks.
    """
    _set(function.__code__, "SKIP")


def leave_methods_alone(*classes: type) -> None:
    """Call `leave_alone` for all methods of these classes."""
    for cls in classes:
        for member in vars(cls).values():
            if isinstance(member, types.FunctionType):
                leave_alone(member)


def call_uncompiled(function: Callable[..., Any], *args: Any) -> Any:
    """Call a function, and all that it calls, without torch.compile."""
    frames: Any = torch._C._dynamo.eval_frame
    before = frames.set_eval_frame(None)
    try:
        return function(*args)
    finally:
        frames.set_eval_frame(before)


class Uncompiled:
    """PyTorch code that torch.compile must run uncompiled during a watch, so that its hooks are called.

    This is the step of an optimizer (what it calls is still compiled), and the forward of PyTorch's own modules.
    torch.compile skips such a module by itself, unless it has hooks: then it would compile each into its own graph.
    """

    def __init__(self) -> None:
        self._codes: set[types.CodeType] = set()
        for code in torch.optim.Optimizer.profile_hook_step.__code__.co_consts:
            if isinstance(code, types.CodeType):
                self._add(code)

    def add(self, module: type) -> None:
        """Leave the forward of a class of modules alone, if it is PyTorch's own."""
        code = getattr(getattr(module, "forward", None), "__code__", None)
        checks_hooks = hasattr(torch._C._dynamo.eval_frame, "set_code_exec_strategy")  # earlier versions do not
        if checks_hooks and code is not None and module.__module__.startswith(("torch.nn.", "torch.ao.")):
            self._add(code)

    def _add(self, code: types.CodeType) -> None:
        if code in self._codes:
            return
        self._codes.add(code)
        _count[code] = _count.get(code, 0) + 1
        if _count[code] == 1:
            _set(code, "SKIP")

    def end(self) -> None:
        """Allow compilation again."""
        for code in self._codes:
            _count[code] -= 1
            if _count[code] == 0:
                del _count[code]
                _set(code, "DEFAULT")
        self._codes = set()


_count: dict[types.CodeType, int] = {}  # how many watches skip a code


class Listener(Protocol):
    """Callbacks of `CompileObserver`."""

    def on_inspect(self, begins: bool) -> None:
        """Handle the begin, or the end, of an interval in which torch.compile reads `nn.Module` and keeps the result.

        This is the import of its package, and each trace. A strict export does nothing else.
        """

    def on_request(self) -> None:
        """Handle a call of torch.compile with a function or a module."""

    def on_compile(self) -> None:
        """Handle the begin of a compilation."""


class CompileObserver(LatePatches):
    """Reports what torch.compile does to a listener, until `end()`."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._handler: Any = None
        super().__init__()

    def begin(self) -> None:
        """Patch its modules once they are imported."""
        self.when("torch._dynamo.eval_frame", self._observe_requests)
        self.when("torch._dynamo.symbolic_convert", self._observe_traces)
        self.when("torch._dynamo.callback", self._observe_compilations)
        self.when(
            "torch._dynamo",
            self._on_imported,
            before=lambda _: self._listener.on_inspect(True),
            failed=lambda _: self._listener.on_inspect(False),
        )

    def _observe_requests(self, eval_frame: Any) -> None:
        def reporting(original: Callable[..., None]) -> Callable[..., None]:
            @functools.wraps(original)
            def init(*args: Any, **kwargs: Any) -> None:
                if self.active:
                    self._listener.on_request()
                original(*args, **kwargs)

            return init

        self.put(eval_frame.OptimizeContext, "__init__", reporting)

    def _observe_traces(self, symbolic_convert: Any) -> None:
        def reporting(original: Callable[..., Any]) -> Callable[..., Any]:
            @functools.wraps(original)
            def run(*args: Any, **kwargs: Any) -> Any:
                self._listener.on_inspect(True)
                try:
                    return original(*args, **kwargs)
                finally:
                    self._listener.on_inspect(False)

            return run

        self.put(symbolic_convert.InstructionTranslator, "run", reporting)

    def _observe_compilations(self, module: Any) -> None:
        handler: Any = getattr(module, "callback_handler", None)
        if hasattr(handler, "register_start_callback"):
            handler.register_start_callback(self._on_start)
            self._handler = handler
        else:  # another version of PyTorch has no callbacks: assume that it compiles
            self._listener.on_compile()

    def _on_imported(self, _module: Any) -> None:
        if self._handler is None or len(self._put) < 2:  # another version of PyTorch: inspections may go unseen
            self._listener.on_request()
        self._listener.on_inspect(False)

    def _on_start(self, *_: Any) -> None:
        self._listener.on_compile()

    def end(self) -> None:
        """Remove the patches and the callback."""
        if self._handler is not None and self._on_start in self._handler.start_callbacks:
            self._handler.remove_start_callback(self._on_start)
        super().end()


def may_have_compiled() -> bool:
    """Whether torch.compile was used in this process; True if that is unknown."""
    package = sys.modules.get("torch._dynamo")
    if package is None:
        return False
    backends = getattr(sys.modules.get("torch._dynamo.eval_frame"), "cached_backends", None)
    if backends is None:  # another version of PyTorch
        return True
    if getattr(package.__spec__, "_initializing", False):  # another thread is importing it
        return True
    return any(callable(backend) for backend in backends.values())
