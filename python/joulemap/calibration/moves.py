"""Memory on the move: copies, gathers, scatters, sorts."""

from __future__ import annotations

import torch
from torch.nn import functional

from joulemap._burst import Call
from joulemap.calibration.data import Data
from joulemap.calibration.differentiated import backward_of, leaf
from joulemap.calibration.kernel import Maker


def index_select(data: Data, rows: int, width: int) -> Call:
    """Rows in random order."""
    x, order = data.take(rows, width), data.indices(rows, rows)
    return lambda: x.index_select(0, order)


def gather(data: Data, rows: int, width: int) -> Call:
    """Single numbers along rows."""
    x, order = data.take(rows, width), data.indices(width, rows, width)
    return lambda: x.gather(1, order)


def embedding(data: Data, tokens: int, words: int, width: int) -> Call:
    """Forward: a row a token."""
    weight, given = data.weight(words, width), data.indices(words, tokens)
    return lambda: functional.embedding(given, weight)


def embedding_backward(data: Data, tokens: int, words: int, width: int) -> Call:
    """Gradient of the table, which adds up rows of equal tokens."""
    weight, given = leaf(data.weight(words, width)), data.indices(words, tokens)
    return backward_of(data, lambda: functional.embedding(given, weight), [weight])


def scatter_add(data: Data, rows: int, width: int) -> Call:
    """Numbers added at random places: atomics."""
    x, order = data.take(rows, width), data.indices(rows, rows, width)
    sums = data.own(rows, width)
    return lambda: sums.scatter_add_(0, order, x)


def index_add(data: Data, rows: int, width: int) -> Call:
    """Rows added to a tenth of the rows."""
    x, order = data.take(rows, width), data.indices(max(1, rows // 10), rows)
    sums = data.own(rows, width)
    return lambda: sums.index_add_(0, order, x)


def cat(data: Data, rows: int, width: int) -> Call:
    """Two tensors side by side."""
    x, y = data.take(rows, width), data.take(rows, width)
    return lambda: torch.cat((x, y), dim=-1)


def copy_to(dtype: torch.dtype) -> Maker:
    """Return the maker of a copy into another dtype."""

    def make(data: Data, *shape: int) -> Call:
        x = data.take(*shape)
        return lambda: x.to(dtype)

    return make
