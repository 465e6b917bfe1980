"""Attention: scaled dot products, forward, and forward with backward."""

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


def attention(data: Data, *shape: int, **how: Any) -> Call:
    """Forward; `how` as scaled_dot_product_attention takes it."""
    batch, heads, length, width = shape
    query, key, value = _operands(data, (batch, heads, length, width))
    return lambda: functional.scaled_dot_product_attention(query, key, value, **how)


def attention_both_ways(data: Data, *shape: int, **how: Any) -> Call:
    """Forward and backward in one call: a backward pass alone would need the forward's random state."""
    batch, heads, length, width = shape
    leaves = [part.detach().requires_grad_() for part in _operands(data, (batch, heads, length, width))]
    query, key, value = leaves
    gradient = data.weight(batch, heads, length, width)

    def call() -> object:
        out = functional.scaled_dot_product_attention(query, key, value, **how)
        return torch.autograd.grad(out, leaves, gradient)

    return call


def attention_of_one(data: Data, *shape: int) -> Call:
    """One new token against a cache of keys and values."""
    batch, heads, length, width = shape
    newest, key, value = (data.take(batch, heads, rows, width) for rows in (1, length, length))
    return lambda: functional.scaled_dot_product_attention(newest, key, value)
