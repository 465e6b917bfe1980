"""Norms, softmax and losses: forward and backward."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from joulemap._burst import Call
from joulemap.calibration.backward import backward_of, leaf
from joulemap.calibration.data import Data

_FLOAT = torch.float32


class BatchNorm:
    """A batch norm over images (batch, channels, edge, edge).

    Parameters
    ----------
    training : bool
        Whether to use the statistics of the batch, else the running ones.
    last : bool
        Whether channels are the last dimension in memory.
    """

    def __init__(self, *, training: bool = True, last: bool = True) -> None:
        self.training = training
        self.last = last

    def _parameters(self, data: Data, channels: int) -> tuple[Any, ...]:
        """Return mean, variance, weight and bias."""
        mean, weight = (torch.zeros(channels, device=data.device), torch.ones(channels, device=data.device))
        return mean, torch.ones_like(mean), weight, torch.zeros_like(mean)

    def forward(self, data: Data, batch: int, channels: int, edge: int) -> Call:
        """Return the forward call."""
        images = data.images(batch, channels, edge, edge, last=self.last)
        mean, variance, weight, bias = self._parameters(data, channels)
        return lambda: functional.batch_norm(images, mean, variance, weight, bias, training=self.training)

    def backward(self, data: Data, batch: int, channels: int, edge: int) -> Call:
        """Return the call of all gradients."""
        images = leaf(data.images(batch, channels, edge, edge, last=self.last))
        mean, variance, weight, bias = self._parameters(data, channels)
        leaves = [images, leaf(weight), leaf(bias)]
        return backward_of(
            data,
            lambda: functional.batch_norm(images, mean, variance, leaves[1], leaves[2], training=self.training),
            leaves,
        )


def layer_norm(data: Data, rows: int, width: int) -> Call:
    """Forward."""
    x, weight, bias = data.take(rows, width), data.weight(width), data.weight(width)
    return lambda: functional.layer_norm(x, (width,), weight, bias)


def layer_norm_backward(data: Data, rows: int, width: int) -> Call:
    """All gradients."""
    leaves = [leaf(data.take(rows, width)), leaf(data.weight(width)), leaf(data.weight(width))]
    return backward_of(data, lambda: functional.layer_norm(leaves[0], (width,), leaves[1], leaves[2]), leaves)


def _rms_norm(x: Tensor, weight: Tensor) -> Tensor:
    """Compute an RMS norm from single operations, as transformers does."""
    wide = x.to(_FLOAT)
    scaled = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)
    return weight * scaled.to(x.dtype)


def rms_norm(data: Data, rows: int, width: int) -> Call:
    """Forward."""
    x, weight = data.take(rows, width), data.weight(width)
    return lambda: _rms_norm(x, weight)


def rms_norm_backward(data: Data, rows: int, width: int) -> Call:
    """All gradients."""
    leaves = [leaf(data.take(rows, width)), leaf(data.weight(width))]
    return backward_of(data, lambda: _rms_norm(leaves[0], leaves[1]), leaves)


def group_norm(data: Data, batch: int, channels: int, edge: int) -> Call:
    """Forward, 8 groups."""
    images = data.images(batch, channels, edge, edge, last=False)
    return lambda: functional.group_norm(images, 8)


def softmax(data: Data, rows: int, width: int) -> Call:
    """Forward."""
    x = data.take(rows, width)
    return lambda: x.softmax(-1)


def softmax_backward(data: Data, rows: int, width: int) -> Call:
    """Gradient of the input."""
    x = leaf(data.take(rows, width))
    return backward_of(data, lambda: x.softmax(-1), [x])


def cross_entropy(data: Data, rows: int, classes: int) -> Call:
    """Forward and backward, as for a language model's loss."""
    logits, labels = leaf(data.take(rows, classes)), data.indices(classes, rows)
    return lambda: torch.autograd.grad(functional.cross_entropy(logits, labels), [logits])
