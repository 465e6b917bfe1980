"""All that a test of a training changes, as it was: the model, its optimizer, its loader and all random states."""

from __future__ import annotations

import contextlib
import random
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import torch
from torch import Tensor, nn

from joulemap._isolation.kept import Values, kept, random_states, set_random_states

_MAX_NESTING = 12  # of dicts and lists in an optimizer's state
_CUDNN = ("enabled", "benchmark", "deterministic", "allow_tf32")


class _Chance:
    """The state of a generator of random numbers: PyTorch's, NumPy's or Python's."""

    def __init__(self, generator: Any) -> None:
        self._generator = generator
        if isinstance(generator, torch.Generator):
            self._state: Any = generator.get_state()
        elif isinstance(generator, random.Random):
            self._state = generator.getstate()
        elif hasattr(generator, "get_state"):  # NumPy's older one
            self._state = generator.get_state()
        else:
            self._state = generator.bit_generator.state

    @staticmethod
    def is_one(value: Any) -> bool:
        """Return whether a value is such a generator."""
        if isinstance(value, torch.Generator | random.Random):
            return True
        numpy = sys.modules.get("numpy")
        return numpy is not None and isinstance(value, numpy.random.Generator | numpy.random.RandomState)

    def restore(self) -> None:
        """Put it back."""
        if isinstance(self._generator, torch.Generator):
            self._generator.set_state(self._state)
        elif isinstance(self._generator, random.Random):
            self._generator.setstate(self._state)
        elif hasattr(self._generator, "set_state"):
            self._generator.set_state(self._state)
        else:
            self._generator.bit_generator.state = self._state


class Contents:
    """What objects hold: their attributes, and dicts, lists, tensors and random generators in them, by content.

    Parameters
    ----------
    follow : callable
        Of an attribute's value: whether its attributes are kept as well.
    without : list of Tensor
        Tensors that somebody else keeps.
    """

    def __init__(self, follow: Callable[[Any], bool], without: list[Tensor]) -> None:
        self._follow = follow
        self._seen: dict[int, Any] = {id(tensor): tensor for tensor in without}  # it keeps them alive: ids stay theirs
        self._dicts: list[tuple[dict[Any, Any], dict[Any, Any]]] = []
        self._lists: list[tuple[list[Any], list[Any]]] = []
        self._values: list[Values | _Chance] = []

    def keep(self, value: Any, nesting: int = _MAX_NESTING) -> None:
        """Take down what a value holds."""
        if id(value) in self._seen or nesting == 0:
            return
        self._seen[id(value)] = value
        if isinstance(value, Tensor):
            self._values.append(Values(value, "cpu"))
            return
        if _Chance.is_one(value):
            self._values.append(_Chance(value))
            return
        inside: list[Any] = []
        if isinstance(value, dict):
            self._dicts.append((value, dict(value)))
            inside = list(value.values())
        elif isinstance(value, list):
            self._lists.append((value, list(value)))
            inside = value
        elif isinstance(value, tuple):
            inside = list(value)
        elif self._follow(value) and hasattr(value, "__dict__"):
            inside = [vars(value)]
        for one in inside:
            self.keep(one, nesting - 1)

    def restore(self) -> None:
        """Put all of it back."""
        for own, entries in self._dicts:
            if list(own) != list(entries) or any(own[key] is not entries[key] for key in entries):
                own.clear()
                own.update(entries)
        for items, members in self._lists:
            if len(items) != len(members) or any(a is not b for a, b in zip(items, members, strict=True)):
                items[:] = members
        for value in self._values:
            value.restore()


def of_loader(loader: Any) -> Contents:
    """Return the state of a data loader, and of one inside: samplers, their generators, an iterator that it keeps."""
    kinds = (torch.utils.data.Sampler, torch.utils.data.DataLoader)
    contents = Contents(lambda value: value is loader or isinstance(value, kinds), [])
    contents.keep(loader)
    return contents


def of_optimizer(optimizer: Any, model: nn.Module) -> Contents:
    """Return the state of an optimizer, without the weights, which are the model's."""
    without = [*model.parameters(), *model.buffers()]
    contents = Contents(lambda value: value is optimizer or isinstance(value, torch.optim.Optimizer), without)
    contents.keep(optimizer)
    return contents


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """Let Ctrl-C wait: half of a state put back would be none."""
    if threading.current_thread() is not threading.main_thread():  # signals are the main thread's
        yield
        return
    pressed: list[tuple[int, FrameType | None]] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: pressed.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before if before is not None else signal.SIG_DFL)
        if pressed and callable(before):
            before(*pressed[0])


@contextlib.contextmanager
def all_kept(model: nn.Module | None, loader: Any, loss_fn: Any, optimizer: Any) -> Iterator[None]:
    """Leave all of these and all random states bit for bit as they were, also after an exception or Ctrl-C.

    Weights, gradients and the optimizer's state are copied to the CPU's memory meanwhile, buffers where they are.
    """
    states = random_states()
    cudnn = {name: getattr(torch.backends.cudnn, name) for name in _CUDNN}
    with contextlib.ExitStack() as stack:
        stack.callback(set_random_states, states)  # at last: what else is put back may draw
        if model is not None:
            stack.enter_context(kept(model))
        if isinstance(loss_fn, nn.Module):
            stack.enter_context(kept(loss_fn))
        if optimizer is not None and model is not None:
            stack.callback(of_optimizer(optimizer, model).restore)
        if loader is not None:
            stack.callback(of_loader(loader).restore)

        @stack.callback
        def _flags() -> None:
            for name, value in cudnn.items():
                if getattr(torch.backends.cudnn, name) != value:
                    setattr(torch.backends.cudnn, name, value)

        try:
            yield
        finally:
            with _uninterrupted():
                stack.close()
