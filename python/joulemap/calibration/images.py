"""Work on images beside convolutions: pooling and resizing, forward and backward."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from joulemap._burst import Call
from joulemap.calibration.data import Data
from joulemap.calibration.differentiated import backward_of, leaf
from joulemap.calibration.kernel import Maker


def forward(operation: Callable[[Tensor], Tensor], *, last: bool = True) -> Maker:
    """Return the maker of an operation on images (batch, channels, edge, edge)."""

    def make(data: Data, batch: int, channels: int, edge: int) -> Call:
        images = data.images(batch, channels, edge, edge, last=last)
        return lambda: operation(images)

    return make


def backward(operation: Callable[[Tensor], Tensor], *, last: bool = True) -> Maker:
    """Return the maker of its gradient."""

    def make(data: Data, batch: int, channels: int, edge: int) -> Call:
        images = leaf(data.images(batch, channels, edge, edge, last=last))
        return backward_of(data, lambda: operation(images), [images])

    return make
