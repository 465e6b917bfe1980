"""A backward pass alone: of a forward pass that was made once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from joulemap._burst import Call
from joulemap.calibration.data import Data


def leaf(values: Tensor) -> Tensor:
    """Return the same numbers as something that gradients are wanted of."""
    return values.detach().requires_grad_()


def backward_of(data: Data, forward: Callable[[], Tensor], leaves: Sequence[Tensor]) -> Call:
    """Return the call of the gradients of `leaves`.

    The forward pass must draw no random numbers: what it keeps of their state no graph can use.
    """
    with torch.enable_grad():
        out = forward()
    gradient = torch.full_like(out, 1e-4) if out.dim() == 0 else data.weight(*out.shape, dtype=out.dtype)
    if out.dim() == 4 and out.is_contiguous(memory_format=torch.channels_last):
        gradient = gradient.contiguous(memory_format=torch.channels_last)
    return lambda: torch.autograd.grad(out, leaves, gradient, retain_graph=True)
