"""Scaled dot-product attention: forward, and forward with backward."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from joulemap._burst import Call
from joulemap.calibration.data import Data

Shape = tuple[int, int, int, int]  # batch, heads, length, width of a head


def _operands(data: Data, shape: Shape) -> list[Tensor]:
    return [data.take(*shape) for _ in range(3)]


def attention(data: Data, *shape: int, **options: Any) -> Call:
    """Return the forward call; options as in scaled_dot_product_attention."""
    batch, heads, length, width = shape
    query, key, value = _operands(data, (batch, heads, length, width))
    return lambda: functional.scaled_dot_product_attention(query, key, value, **options)


def attention_forward_backward(data: Data, *shape: int, **options: Any) -> Call:
    """Return a call of forward and backward: backward alone would need the forward's random state."""
    batch, heads, length, width = shape
    leaves = [part.detach().requires_grad_() for part in _operands(data, (batch, heads, length, width))]
    query, key, value = leaves
    gradient = data.weight(batch, heads, length, width)

    def call() -> object:
        out = functional.scaled_dot_product_attention(query, key, value, **options)
        return torch.autograd.grad(out, leaves, gradient)

    return call


def attention_one_token(data: Data, *shape: int) -> Call:
    """Return the forward call of one new token against a cache of keys and values."""
    batch, heads, length, width = shape
    newest, key, value = (data.take(batch, heads, rows, width) for rows in (1, length, length))
    return lambda: functional.scaled_dot_product_attention(newest, key, value)
