"""Operations on images other than convolutions: pooling and resizing, forward and backward."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from joulemap._burst import Call
from joulemap.calibration.backward import backward_of, leaf
from joulemap.calibration.data import Data
from joulemap.calibration.kernel import Maker


def forward(operation: Callable[[Tensor], Tensor], *, last: bool = True) -> Maker:
    """Return the maker of an operation on images (batch, channels, edge, edge)."""

    def make(data: Data, batch: int, channels: int, edge: int) -> Call:
        images = data.images(batch, channels, edge, edge, last=last)
        return lambda: operation(images)

    return make


def backward(operation: Callable[[Tensor], Tensor], *, last: bool = True) -> Maker:
    """Return the maker of the gradient of an operation on images."""

    def make(data: Data, batch: int, channels: int, edge: int) -> Call:
        images = leaf(data.images(batch, channels, edge, edge, last=last))
        return backward_of(data, lambda: operation(images), [images])

    return make
