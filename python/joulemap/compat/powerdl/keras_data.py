"""How many samples each batch of a Keras `fit` has: Keras does not tell, so its data are counted on their way."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from joulemap._keras_sizes import Sizes, count_samples, leaves, planned


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
    if is_dataset(data):
        sizes = _Seen(not runs_on)
        return (_counted_dataset(data, sizes.see),), {}, sizes
    if _is_py_dataset(data):
        sizes = _Seen(not runs_on)
        return (_count_items(data, sizes.see),), {}, sizes
    x, y, weights = (*data, None, None)[:3] if isinstance(data, tuple | list) else (data, None, None)
    plan = planned(x, fit_kwargs)
    if plan is not None:
        named = {name: value for name, value in (("y", y), ("sample_weight", weights)) if value is not None}
        return (x,), named, plan
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
