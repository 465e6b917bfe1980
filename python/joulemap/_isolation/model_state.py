"""Save and restore a model: weights, buffers, gradients, modes, hooks and random states."""

from __future__ import annotations

import contextlib
import random
import sys
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn


class _Module:
    """The attributes of one module: dicts (weights, buffers, hooks) by content, others by identity."""

    def __init__(self, module: nn.Module) -> None:
        self._module = module
        self._own = dict(module.__dict__)
        self._contents = {key: value.copy() for key, value in self._own.items() if isinstance(value, dict)}

    def restore(self) -> None:
        """Restore attributes that are other objects now."""
        own = self._module.__dict__
        for key in [key for key in own if key not in self._own]:
            del own[key]
        for key, value in self._own.items():
            if own.get(key, self) is not value:
                own[key] = value
        for key, contents in self._contents.items():
            current: dict[Any, Any] = own[key]
            if not _same(current, contents):
                current.clear()
                current.update(contents)


def _same(a: dict[Any, Any], b: dict[Any, Any]) -> bool:
    """Return whether both hold the same objects in the same order."""
    return list(a) == list(b) and all(a[key] is b[key] for key in b)


class Values:
    """The values of a tensor. They are always restored, as some writes change no version (batch norms)."""

    def __init__(self, tensor: Tensor, where: torch.device | str) -> None:
        self._tensor = tensor
        self._copy = tensor.detach().to(where, copy=True)

    def restore(self) -> None:
        """Restore the values."""
        if self._tensor.layout == torch.strided:
            dimensions = zip(self._tensor.stride(), self._tensor.shape, strict=True)
            if any(stride == 0 and size > 1 for stride, size in dimensions):  # an expanded tensor cannot be written
                return
        self._tensor.data.copy_(self._copy)


def random_states() -> dict[str, Any]:
    """Return the random states of Python, PyTorch (CPU and GPUs), and NumPy if it is loaded."""
    states: dict[str, Any] = {"python": random.getstate(), "cpu": torch.get_rng_state()}
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        states["cuda"] = torch.cuda.get_rng_state_all()
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        states["numpy"] = numpy.random.get_state()
    return states


def set_random_states(states: dict[str, Any]) -> None:
    """Restore states of `random_states`."""
    random.setstate(states["python"])
    torch.set_rng_state(states["cpu"])
    if "cuda" in states:
        torch.cuda.set_rng_state_all(states["cuda"])
    if "numpy" in states:
        sys.modules["numpy"].random.set_state(states["numpy"])


@contextlib.contextmanager
def preserved(model: nn.Module) -> Iterator[None]:
    """Restore a model, its gradients and all random states at the end of a block, also after an exception.

    Weights and gradients are copied to the CPU, buffers on their device.
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
        for weight, gradient, requires_grad in gradients:
            if weight.requires_grad != requires_grad:
                weight.requires_grad_(requires_grad)
            if weight.grad is not gradient:
                weight.grad = gradient
        for one in values:
            one.restore()
        set_random_states(states)
