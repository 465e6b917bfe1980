"""Elementwise operations, reductions, integers and random numbers: makers from an operation."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from joulemap._burst import Call
from joulemap.calibration.backward import backward_of, leaf
from joulemap.calibration.data import Data
from joulemap.calibration.kernel import Maker


def of_one(operation: Callable[[Tensor], object]) -> Maker:
    """Return the maker of an operation on one tensor."""

    def make(data: Data, *shape: int) -> Call:
        x = data.take(*shape)
        return lambda: operation(x)

    return make


def of_two(operation: Callable[[Tensor, Tensor], object]) -> Maker:
    """Return the maker of an operation on two tensors."""

    def make(data: Data, *shape: int) -> Call:
        x, y = data.take(*shape), data.take(*shape)
        return lambda: operation(x, y)

    return make


def of_three(operation: Callable[[Tensor, Tensor, Tensor], object]) -> Maker:
    """Return the maker of an operation on three tensors."""

    def make(data: Data, *shape: int) -> Call:
        x, y, z = (data.take(*shape) for _ in range(3))
        return lambda: operation(x, y, z)

    return make


def with_mask(operation: Callable[[Tensor, Tensor], object]) -> Maker:
    """Return the maker of an operation on a tensor and booleans."""

    def make(data: Data, *shape: int) -> Call:
        x, mask = data.take(*shape), data.mask(*shape)
        return lambda: operation(x, mask)

    return make


def with_channels(operation: Callable[[Tensor, Tensor], object]) -> Maker:
    """Return the maker of an operation on rows and one number per column."""

    def make(data: Data, rows: int, width: int) -> Call:
        x, channels = data.take(rows, width), data.weight(width)
        return lambda: operation(x, channels)

    return make


def in_place(operation: Callable[[Tensor], object]) -> Maker:
    """Return the maker of an operation that writes into its tensor."""

    def make(data: Data, *shape: int) -> Call:
        x = data.own(*shape)
        return lambda: operation(x)

    return make


def backward(operation: Callable[[Tensor], Tensor]) -> Maker:
    """Return the maker of the gradient of an operation on one tensor."""

    def make(data: Data, *shape: int) -> Call:
        x = leaf(data.take(*shape))
        return backward_of(data, lambda: operation(x), [x])

    return make


def rotate_half(x: Tensor, angles: Tensor) -> Tensor:
    """Apply rotary positions, as transformers does."""
    first, second = x.chunk(2, dim=-1)
    return x * angles.cos() + torch.cat((-second, first), dim=-1) * angles.sin()
