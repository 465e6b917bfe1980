"""Batch sizes of a Keras `fit`, counted as Keras fetches the data, because it does not pass them to callbacks."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from joulemap._keras_sizes import Sizes, count_samples, leaves, planned


class _Counted(Sizes):
    """Batch sizes that are counted as Keras fetches the data, ahead of time but in order.

    `is_fresh`: each epoch begins anew, without batches that were fetched and not trained.
    """

    def __init__(self, is_fresh: bool) -> None:
        self._sizes: deque[int] = deque()
        self._is_fresh = is_fresh

    def add(self, size: int) -> None:
        self._sizes.append(size)

    def begin_epoch(self) -> None:
        if self._is_fresh:
            self._sizes.clear()

    def next(self) -> int:
        return self._sizes.popleft() if self._sizes else -1


def is_dataset(data: Any) -> bool:
    """Return whether data are a tf.data.Dataset."""
    return hasattr(data, "element_spec") and hasattr(data, "map")


def counted(data: Any, fit_kwargs: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any], Sizes]:
    """Return arguments of `fit` to use instead of `data`, by position and by name, and the batch sizes.

    Parameters
    ----------
    data : Any
        Arrays, (x, y) or (x, y, weights) of arrays, a tf.data.Dataset, a PyDataset, a PyTorch DataLoader, or an
        iterable of batches.
    fit_kwargs : mapping
        Other arguments of `fit`.
    """
    continues = fit_kwargs.get("steps_per_epoch") is not None
    if is_dataset(data):
        sizes = _Counted(not continues)
        return (_counted_dataset(data, sizes.add),), {}, sizes
    if _is_py_dataset(data):
        sizes = _Counted(not continues)
        return (_counted_py_dataset(data, sizes.add),), {}, sizes
    x, y, weights = (*data, None, None)[:3] if isinstance(data, tuple | list) else (data, None, None)
    plan = planned(x, fit_kwargs)
    if plan is not None:
        named = {name: value for name, value in (("y", y), ("sample_weight", weights)) if value is not None}
        return (x,), named, plan
    sizes = _Counted(False)
    return (_counted_batches(data, sizes.add),), {}, sizes


def _counted_dataset(data: Any, add: Callable[[int], None]) -> Any:
    import tensorflow as tf

    def add_size(size: Any) -> Any:
        add(int(size))
        return size

    def count(*parts: Any) -> Any:
        size = tf.shape(next(leaves(parts)))[0]
        with tf.control_dependencies([tf.numpy_function(add_size, [size], tf.int32)]):
            passed = tf.nest.map_structure(tf.identity, parts)
        return passed if len(passed) > 1 else passed[0]

    return data.map(count)  # one at a time, so in order


def _counted_batches(data: Iterable[Any], add: Callable[[int], None]) -> Iterator[Any]:
    for batch in data:
        add(count_samples(batch))
        yield batch


def _is_py_dataset(data: Any) -> bool:
    keras = sys.modules.get("keras")
    return keras is not None and isinstance(data, keras.utils.PyDataset)


def _counted_py_dataset(data: Any, add: Callable[[int], None]) -> Any:
    """Return a PyDataset that counts the batches of another one; with one worker, so in order."""
    import keras

    class Counted(keras.utils.PyDataset):  # type: ignore[misc]
        def __getitem__(self, index: int) -> Any:
            batch = data[index]
            add(count_samples(batch))
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
