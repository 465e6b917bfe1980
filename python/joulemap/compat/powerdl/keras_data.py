"""How many samples each batch of a Keras `fit` has: Keras does not tell, so its data are counted on their way."""

from __future__ import annotations

import math
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import cycle
from typing import Any


class Sizes:
    """Sizes of batches in the order in which they are trained; -1: not known."""

    def begin_epoch(self) -> None:
        """Begin an epoch's sizes."""

    def next(self) -> int:
        """Return the size of the next batch."""
        return -1


class _Planned(Sizes):
    """Of data whose length is known."""

    def __init__(self, samples: int, batch_size: int, drop_last: bool, runs_on: bool) -> None:
        whole, rest = divmod(samples, batch_size)
        self._of_epoch = [batch_size] * whole + ([rest] if rest > 0 and not drop_last else [])
        self._runs_on = runs_on
        self._next: Iterator[int] | None = None

    def begin_epoch(self) -> None:
        if self._next is None or not self._runs_on:
            self._next = cycle(self._of_epoch)

    def next(self) -> int:
        return -1 if self._next is None else next(self._next, -1)


class _Seen(Sizes):
    """Of data that are counted as Keras fetches them, which it does ahead of time but in order.

    `is_fresh`: it begins anew at each epoch, with what was fetched and not trained left out.
    """

    def __init__(self, is_fresh: bool) -> None:
        self._sizes: deque[int] = deque()
        self._is_fresh = is_fresh

    def see(self, size: int) -> None:
        self._sizes.append(size)

    def begin_epoch(self) -> None:
        if self._is_fresh:
            self._sizes.clear()

    def next(self) -> int:
        return self._sizes.popleft() if self._sizes else -1


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
    """Return how many samples arrays have: the first length of the first; -1 where that is not known."""
    shape = getattr(next(leaves(value), None), "shape", None)
    return int(shape[0]) if shape is not None and len(shape) > 0 and shape[0] is not None else -1


def is_dataset(data: Any) -> bool:
    """Tell whether data are a tf.data.Dataset."""
    return hasattr(data, "element_spec") and hasattr(data, "map")


def counted(data: Any, fit_kwargs: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any], Sizes]:
    """Return what `fit` takes instead of `data`, by position and by name, and the sizes that it tells.

    Parameters
    ----------
    data : Any
        Arrays, (x, y) or (x, y, weights) of arrays, a tf.data.Dataset, a PyDataset, a DataLoader of PyTorch, or an
        iterable of batches.
    fit_kwargs : mapping
        What else `fit` is given.
    """
    runs_on = fit_kwargs.get("steps_per_epoch") is not None
    torch_data = sys.modules.get("torch.utils.data")
    if is_dataset(data):
        sizes = _Seen(not runs_on)
        return (_counted_dataset(data, sizes.see),), {}, sizes
    if torch_data is not None and isinstance(data, torch_data.DataLoader):
        if data.batch_size is None:
            return (data,), {}, Sizes()
        return (data,), {}, _Planned(len(data.dataset), data.batch_size, data.drop_last, runs_on)
    if _is_py_dataset(data):
        sizes = _Seen(not runs_on)
        return (_count_items(data, sizes.see),), {}, sizes
    if isinstance(data, tuple | list | Mapping) or hasattr(data, "shape"):
        x, y, weights = (*data, None, None)[:3] if isinstance(data, tuple | list) else (data, None, None)
        samples = count_samples(x)
        samples = math.floor(samples * (1 - (fit_kwargs.get("validation_split") or 0.0)))
        named = {name: value for name, value in (("y", y), ("sample_weight", weights)) if value is not None}
        batch_size = fit_kwargs.get("batch_size") or 32
        return (x,), named, _Planned(samples, batch_size, False, runs_on) if samples > 0 else Sizes()
    sizes = _Seen(False)
    return (_counted_batches(data, sizes.see),), {}, sizes


def _counted_dataset(data: Any, see: Callable[[int], None]) -> Any:
    import tensorflow as tf

    def tell(size: Any) -> Any:
        see(int(size))
        return size

    def note(*parts: Any) -> Any:
        size = tf.shape(next(leaves(parts)))[0]
        with tf.control_dependencies([tf.numpy_function(tell, [size], tf.int32)]):
            passed = tf.nest.map_structure(tf.identity, parts)
        return passed if len(passed) > 1 else passed[0]

    return data.map(note)  # one at a time: in order


def _counted_batches(data: Iterable[Any], see: Callable[[int], None]) -> Iterator[Any]:
    for batch in data:
        see(count_samples(batch))
        yield batch


def _is_py_dataset(data: Any) -> bool:
    keras = sys.modules.get("keras")
    return keras is not None and isinstance(data, keras.utils.PyDataset)


def _count_items(data: Any, see: Callable[[int], None]) -> Any:
    """Return a PyDataset that tells the sizes of another one's batches; with one worker in order."""
    import keras

    class Counted(keras.utils.PyDataset):  # type: ignore[misc]
        def __getitem__(self, index: int) -> Any:
            batch = data[index]
            see(count_samples(batch))
            return batch

        def __len__(self) -> int:
            return len(data)

        @property
        def num_batches(self) -> int | None:
            return data.num_batches  # type: ignore[no-any-return]

        def on_epoch_begin(self) -> None:
            data.on_epoch_begin()

        def on_epoch_end(self) -> None:
            data.on_epoch_end()

    return Counted(workers=1, use_multiprocessing=False, max_queue_size=data.max_queue_size)
