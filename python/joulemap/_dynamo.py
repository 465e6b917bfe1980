"""Functions of ours that torch.compile meets between two graphs: it has to run them as they are."""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable
from typing import Any, Protocol

import torch

from joulemap._imports import LatePatches

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
    """Let torch.compile run it as it is where it is called between graphs.

    What it compiles of a hook is nothing (`is_dynamo_compiling` is true there), so the hook would be silent; and none
    breaks a graph that did not.
    """
    _set(function.__code__, "SKIP")


def leave_methods_alone(*classes: type) -> None:
    """Do so with all functions of these classes."""
    for cls in classes:
        for member in vars(cls).values():
            if isinstance(member, types.FunctionType):
                leave_alone(member)


class Uncompiled:
    """What torch.compile is to run as it is, while somebody watches: its hooks are called there.

    The step of an optimizer, of which only what is inside is compiled. And the forward of PyTorch's own modules, which
    it leaves alone where nothing holds them, but compiles, each into a graph of its own, where a module has hooks;
    a watched one looks so.
    """

    def __init__(self) -> None:
        self._codes: set[types.CodeType] = set()
        for code in torch.optim.Optimizer.profile_hook_step.__code__.co_consts:
            if isinstance(code, types.CodeType):
                self._add(code)

    def add(self, module: type) -> None:
        """Leave the forward of a class of modules alone, if it is PyTorch's own."""
        code = getattr(getattr(module, "forward", None), "__code__", None)
        knows = hasattr(torch._C._dynamo.eval_frame, "set_code_exec_strategy")  # those before know no hooks of a module
        if knows and code is not None and module.__module__.startswith(("torch.nn.", "torch.ao.")):
            self._add(code)

    def _add(self, code: types.CodeType) -> None:
        if code in self._codes:
            return
        self._codes.add(code)
        _count[code] = _count.get(code, 0) + 1
        if _count[code] == 1:
            _set(code, "SKIP")

    def end(self) -> None:
        """Let it compile what it likes."""
        for code in self._codes:
            _count[code] -= 1
            if _count[code] == 0:
                del _count[code]
                _set(code, "DEFAULT")
        self._codes = set()


_count: dict[types.CodeType, int] = {}  # how many watches left it so


class Listener(Protocol):
    """Who is told what torch.compile does."""

    def looks(self, begins: bool) -> None:
        """Be told that it looks at `nn.Module`, and keeps what it finds; and that it is done with that.

        When its package is imported, and when it traces something. For a strict export that is all there is.
        """

    def asked_for(self) -> None:
        """Be told that it is given a function or a module."""

    def compiles(self) -> None:
        """Be told that it is about to compile something."""


class Compiling(LatePatches):
    """Tells a listener of torch.compile, until `end()`."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._handler: Any = None
        super().__init__()

    def begin(self) -> None:
        """Hear of it once it is imported."""
        self.when("torch._dynamo.eval_frame", self._hear_of_what_it_is_given)
        self.when("torch._dynamo.symbolic_convert", self._hear_of_traces)
        self.when("torch._dynamo.callback", self._hear_of_compiles)
        self.when(
            "torch._dynamo",
            self._is_imported,
            before=lambda _: self._listener.looks(True),
            failed=lambda _: self._listener.looks(False),
        )

    def _hear_of_what_it_is_given(self, eval_frame: Any) -> None:
        def telling(original: Callable[..., None]) -> Callable[..., None]:
            @functools.wraps(original)
            def init(*args: Any, **kwargs: Any) -> None:
                if self.active:
                    self._listener.asked_for()
                original(*args, **kwargs)

            return init

        self.put(eval_frame.OptimizeContext, "__init__", telling)

    def _hear_of_traces(self, symbolic_convert: Any) -> None:
        def telling(original: Callable[..., Any]) -> Callable[..., Any]:
            @functools.wraps(original)
            def run(*args: Any, **kwargs: Any) -> Any:
                self._listener.looks(True)
                try:
                    return original(*args, **kwargs)
                finally:
                    self._listener.looks(False)

            return run

        self.put(symbolic_convert.InstructionTranslator, "run", telling)

    def _hear_of_compiles(self, module: Any) -> None:
        handler: Any = getattr(module, "callback_handler", None)
        if hasattr(handler, "register_start_callback"):
            handler.register_start_callback(self._starts)
            self._handler = handler
        else:  # PyTorch of another time tells nobody: as if it were about to
            self._listener.compiles()

    def _is_imported(self, _module: Any) -> None:
        if (
            self._handler is None or len(self._put) < 2
        ):  # another PyTorch, of which not all is heard: it may look any time
            self._listener.asked_for()
        self._listener.looks(False)

    def _starts(self, *_: Any) -> None:
        self._listener.compiles()

    def end(self) -> None:
        """Hear of it no longer."""
        if self._handler is not None and self._starts in self._handler.start_callbacks:
            self._handler.remove_start_callback(self._starts)
        super().end()


def may_have_compiled() -> bool:
    """Whether torch.compile was given something in this process, or it cannot be told."""
    package = sys.modules.get("torch._dynamo")
    if package is None:
        return False
    backends = getattr(sys.modules.get("torch._dynamo.eval_frame"), "cached_backends", None)
    if backends is None or getattr(
        package.__spec__, "_initializing", False
    ):  # another PyTorch; another thread is at it
        return True
    return any(callable(backend) for backend in backends.values())
