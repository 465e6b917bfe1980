"""A backward pass without its forward pass, which runs once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from joulemap._burst import Call
from joulemap.calibration.data import Data


def leaf(values: Tensor) -> Tensor:
    """Return the same numbers as a leaf that requires a gradient."""
    return values.detach().requires_grad_()


def backward_of(data: Data, forward: Callable[[], Tensor], leaves: Sequence[Tensor]) -> Call:
    """Return the call of the gradients of `leaves`.

    The forward pass must draw no random numbers: a CUDA graph cannot use their saved state.
    """
    with torch.enable_grad():
        out = forward()
    gradient = torch.full_like(out, 1e-4) if out.dim() == 0 else data.weight(*out.shape, dtype=out.dtype)
    if out.dim() == 4 and out.is_contiguous(memory_format=torch.channels_last):
        gradient = gradient.contiguous(memory_format=torch.channels_last)
    return lambda: torch.autograd.grad(out, leaves, gradient, retain_graph=True)
