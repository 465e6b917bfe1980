"""Save and restore all that trial steps of a training change: model, optimizer, loader and random states."""

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

from joulemap._isolation.model_state import Values, preserved, random_states, set_random_states

_MAX_NESTING = 12  # dicts and lists in an optimizer's state
_CUDNN = ("enabled", "benchmark", "deterministic", "allow_tf32")


class _Generator:
    """The state of a random number generator of PyTorch, NumPy or Python."""

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
    def is_generator(value: Any) -> bool:
        """Return whether a value is a random number generator."""
        if isinstance(value, torch.Generator | random.Random):
            return True
        numpy = sys.modules.get("numpy")
        return numpy is not None and isinstance(value, numpy.random.Generator | numpy.random.RandomState)

    def restore(self) -> None:
        """Restore the state."""
        if isinstance(self._generator, torch.Generator):
            self._generator.set_state(self._state)
        elif isinstance(self._generator, random.Random):
            self._generator.setstate(self._state)
        elif hasattr(self._generator, "set_state"):
            self._generator.set_state(self._state)
        else:
            self._generator.bit_generator.state = self._state


class Contents:
    """The contents of objects: attributes, dicts, lists, tensors and random generators inside of them.

    Parameters
    ----------
    follow : callable
        Returns for a value whether its attributes are saved, too.
    without : list of Tensor
        Tensors that are saved elsewhere.
    """

    def __init__(self, follow: Callable[[Any], bool], without: list[Tensor]) -> None:
        self._follow = follow
        self._seen: dict[int, Any] = {id(tensor): tensor for tensor in without}  # keeps them alive, so ids stay unique
        self._dicts: list[tuple[dict[Any, Any], dict[Any, Any]]] = []
        self._lists: list[tuple[list[Any], list[Any]]] = []
        self._values: list[Values | _Generator] = []

    def save(self, value: Any, nesting: int = _MAX_NESTING) -> None:
        """Save the contents of a value."""
        if id(value) in self._seen or nesting == 0:
            return
        self._seen[id(value)] = value
        if isinstance(value, Tensor):
            self._values.append(Values(value, "cpu"))
            return
        if _Generator.is_generator(value):
            self._values.append(_Generator(value))
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
            self.save(one, nesting - 1)

    def restore(self) -> None:
        """Restore all saved contents."""
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
    """Return the state of a data loader and loaders inside of it: samplers, generators, a persistent iterator."""
    kinds = (torch.utils.data.Sampler, torch.utils.data.DataLoader)
    contents = Contents(lambda value: value is loader or isinstance(value, kinds), [])
    contents.save(loader)
    return contents


def of_optimizer(optimizer: Any, model: nn.Module) -> Contents:
    """Return the state of an optimizer without the model's weights."""
    without = [*model.parameters(), *model.buffers()]
    contents = Contents(lambda value: value is optimizer or isinstance(value, torch.optim.Optimizer), without)
    contents.save(optimizer)
    return contents


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """Delay Ctrl-C to the end of the block, so that no state is restored by half."""
    if threading.current_thread() is not threading.main_thread():  # only the main thread gets signals
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
def preserved_training(model: nn.Module | None, loader: Any, loss_fn: Any, optimizer: Any) -> Iterator[None]:
    """Restore all of these and all random states bit by bit at the end of a block, also after an exception or Ctrl-C.

    Weights, gradients and the optimizer's state are copied to the CPU, buffers on their device.
    """
    states = random_states()
    cudnn = {name: getattr(torch.backends.cudnn, name) for name in _CUDNN}
    with contextlib.ExitStack() as stack:
        stack.callback(set_random_states, states)  # runs last: restoring the others may draw random numbers
        if model is not None:
            stack.enter_context(preserved(model))
        if isinstance(loss_fn, nn.Module):
            stack.enter_context(preserved(loss_fn))
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
