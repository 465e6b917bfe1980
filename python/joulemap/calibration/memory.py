"""Memory operations: copies, gathers, scatters."""

from __future__ import annotations

import torch
from torch.nn import functional

from joulemap._burst import Call
from joulemap.calibration.backward import backward_of, leaf
from joulemap.calibration.data import Data
from joulemap.calibration.kernel import Maker


def index_select(data: Data, rows: int, width: int) -> Call:
    """Select rows in random order."""
    x, order = data.take(rows, width), data.indices(rows, rows)
    return lambda: x.index_select(0, order)


def gather(data: Data, rows: int, width: int) -> Call:
    """Gather single numbers along rows."""
    x, order = data.take(rows, width), data.indices(width, rows, width)
    return lambda: x.gather(1, order)


def embedding(data: Data, tokens: int, words: int, width: int) -> Call:
    """Look up a row per token."""
    weight, indices = data.weight(words, width), data.indices(words, tokens)
    return lambda: functional.embedding(indices, weight)


def embedding_backward(data: Data, tokens: int, words: int, width: int) -> Call:
    """Compute the gradient of the table, which adds up rows of equal tokens."""
    weight, indices = leaf(data.weight(words, width)), data.indices(words, tokens)
    return backward_of(data, lambda: functional.embedding(indices, weight), [weight])


def scatter_add(data: Data, rows: int, width: int) -> Call:
    """Add numbers at random positions, with atomics."""
    x, order = data.take(rows, width), data.indices(rows, rows, width)
    sums = data.own(rows, width)
    return lambda: sums.scatter_add_(0, order, x)


def index_add(data: Data, rows: int, width: int) -> Call:
    """Add rows to a tenth of the rows."""
    x, order = data.take(rows, width), data.indices(max(1, rows // 10), rows)
    sums = data.own(rows, width)
    return lambda: sums.index_add_(0, order, x)


def cat(data: Data, rows: int, width: int) -> Call:
    """Concatenate two tensors along columns."""
    x, y = data.take(rows, width), data.take(rows, width)
    return lambda: torch.cat((x, y), dim=-1)


def copy_to(dtype: torch.dtype) -> Maker:
    """Return the maker of a copy to another dtype."""

    def make(data: Data, *shape: int) -> Call:
        x = data.take(*shape)
        return lambda: x.to(dtype)

    return make
