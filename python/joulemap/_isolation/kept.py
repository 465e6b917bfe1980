"""A model as it was: weights, buffers, gradients, modes, hooks and random states, whatever happens in between."""

from __future__ import annotations

import contextlib
import random
import sys
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn


class _Module:
    """One module's own attributes: its dicts (weights, buffers, hooks) by content, the rest by identity."""

    def __init__(self, module: nn.Module) -> None:
        self._module = module
        self._own = dict(module.__dict__)
        self._contents = {key: value.copy() for key, value in self._own.items() if isinstance(value, dict)}

    def restore(self) -> None:
        """Put all back that is another object now."""
        own = self._module.__dict__
        for key in [key for key in own if key not in self._own]:
            del own[key]
        for key, value in self._own.items():
            if own.get(key, self) is not value:
                own[key] = value
        for key, contents in self._contents.items():
            now: dict[Any, Any] = own[key]
            if not _same(now, contents):
                now.clear()
                now.update(contents)


def _same(now: dict[Any, Any], before: dict[Any, Any]) -> bool:
    """Return whether both hold the same objects."""
    return list(now) == list(before) and all(now[key] is before[key] for key in before)


class Values:
    """The numbers of a tensor. What writes need not tell (batch norms do not), so they are put back in any case."""

    def __init__(self, tensor: Tensor, where: torch.device | str) -> None:
        self._tensor = tensor
        self._copy = tensor.detach().to(where, copy=True)

    def restore(self) -> None:
        """Put the numbers back."""
        if self._tensor.layout == torch.strided:
            places = zip(self._tensor.stride(), self._tensor.shape, strict=True)
            if any(step == 0 and size > 1 for step, size in places):  # into an expanded tensor nobody can write
                return
        self._tensor.data.copy_(self._copy)


def random_states() -> dict[str, Any]:
    """Return the random states of Python, PyTorch on the CPU and the GPUs, and NumPy where it is loaded."""
    states: dict[str, Any] = {"python": random.getstate(), "cpu": torch.get_rng_state()}
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        states["cuda"] = torch.cuda.get_rng_state_all()
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        states["numpy"] = numpy.random.get_state()
    return states


def set_random_states(states: dict[str, Any]) -> None:
    """Put them back."""
    random.setstate(states["python"])
    torch.set_rng_state(states["cpu"])
    if "cuda" in states:
        torch.cuda.set_rng_state_all(states["cuda"])
    if "numpy" in states:
        sys.modules["numpy"].random.set_state(states["numpy"])


@contextlib.contextmanager
def kept(model: nn.Module) -> Iterator[None]:
    """Leave a model, its gradients and all random states as they were, also after an exception.

    Weights and gradients are copied to the CPU meanwhile, buffers where they are.
    """
    modules = [_Module(module) for module in model.modules() if not isinstance(module, torch.jit.ScriptModule)]
    gradients = [(weight, weight.grad, weight.requires_grad) for weight in model.parameters()]
    values = [Values(weight, "cpu") for weight in model.parameters()]
    values += [Values(gradient, "cpu") for _, gradient, _ in gradients if gradient is not None]
    values += [Values(buffer, buffer.device) for buffer in model.buffers()]
    states = random_states()
    try:
        yield
    finally:
        for module in modules:
            module.restore()
        for weight, gradient, wants_gradient in gradients:
            if weight.requires_grad != wants_gradient:
                weight.requires_grad_(wants_gradient)
            if weight.grad is not gradient:
                weight.grad = gradient
        for one in values:
            one.restore()
        set_random_states(states)
