"""Batch sizes of Keras' `fit`, from its data: Keras passes them to no callback."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping
from itertools import cycle
from typing import Any


class Sizes:
    """Sizes of batches in the order of the training; this class knows none."""

    def begin_epoch(self) -> None:
        """Begin an epoch's sizes."""

    def next(self) -> int:
        """Return the size of the next batch; -1: not known."""
        return -1


class Planned(Sizes):
    """Batch sizes of data whose length is known."""

    def __init__(self, samples: int, batch_size: int, drop_last: bool, continues: bool) -> None:
        whole, rest = divmod(samples, batch_size)
        self._of_epoch = [batch_size] * whole + ([rest] if rest > 0 and not drop_last else [])
        self._continues = continues  # an epoch goes on where the previous one ended
        self._next: Iterator[int] | None = None

    def begin_epoch(self) -> None:
        """Begin an epoch's sizes."""
        if self._next is None or not self._continues:
            self._next = cycle(self._of_epoch)

    def next(self) -> int:
        """Return the size of the next batch."""
        return -1 if self._next is None else next(self._next, -1)


def leaves(value: Any) -> Iterator[Any]:
    """Yield the arrays of nested tuples, lists and dicts."""
    if isinstance(value, Mapping):
        for part in value.values():
            yield from leaves(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from leaves(part)
    elif value is not None:
        yield value


def count_samples(value: Any) -> int:
    """Return the number of samples of arrays: the first dimension of the first array; -1 if not known."""
    shape = getattr(next(leaves(value), None), "shape", None)
    return int(shape[0]) if shape is not None and len(shape) > 0 and shape[0] is not None else -1


def planned(x: Any, given: Mapping[str, Any]) -> Sizes | None:
    """Return the batch sizes of arrays or of a PyTorch DataLoader; None for data of other kinds.

    Parameters
    ----------
    x : Any
        The first argument of `fit`, `evaluate` or `predict`.
    given : mapping
        The other arguments, by name.
    """
    continues = given.get("steps_per_epoch") is not None
    torch_data = sys.modules.get("torch.utils.data")
    if torch_data is not None and isinstance(x, torch_data.DataLoader):
        if x.batch_size is None:
            return Sizes()
        try:
            return Planned(len(x.sampler), x.batch_size, x.drop_last, continues)
        except TypeError:  # a dataset or a sampler without a length
            return Sizes()
    if not isinstance(x, tuple | list | Mapping) and not hasattr(x, "shape"):
        return None
    samples = math.floor(count_samples(x) * (1 - (given.get("validation_split") or 0.0)))
    return Planned(samples, given.get("batch_size") or 32, False, continues) if samples > 0 else Sizes()
