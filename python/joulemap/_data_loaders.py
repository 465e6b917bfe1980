"""Batches of data loaders as steps, and the wait for them.

The iterators of `torch.utils.data.DataLoader` share one `__next__`, of a class that has had its name since PyTorch 1.2.
While a model is watched, that method is wrapped. The wait is a span "data". It is followed by a span "batch", until
the next call, the end of the iterator, or its deletion, as after `break`.

The loaders of accelerate, which Hugging Face's Trainer uses, fetch one batch ahead. There the outer generator is
wrapped, and inner waits are part of its wait.
"""

from __future__ import annotations

import functools
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from torch.utils.data import get_worker_info
from torch.utils.data.dataloader import _BaseDataLoaderIter, _DatasetKind

from joulemap import _batch_counts, _core
from joulemap._found_steps import found_steps
from joulemap._locks import Lock

_DATA = _core.SPAN_KINDS["data"]
_ACCELERATE = "accelerate.data_loader"
_ACCELERATE_LOADERS = ("DataLoaderShard", "DataLoaderDispatcher", "SkipDataLoader")  # each has an __iter__


class _Thread(threading.local):
    waits = False  # for a loader; inner loaders make no spans


class _Kept:
    """Holds an object in one attribute, as a loader with persistent workers holds its iterator."""

    def __init__(self) -> None:
        self.held = object()


def _reference_count(holder: Callable[[], Any]) -> int:
    return sys.getrefcount(holder())


_kept = _Kept()
_ONE_HOLDER = _reference_count(lambda: _kept.held)
_thread = _Thread()


def _count(batch: Any, iterator: Any = None) -> tuple[int, int]:
    """Return the samples and tokens of a batch of an iterator (of PyTorch, or None); never fails the program."""
    if iterator is None:
        return _batch_counts.count(batch)
    try:
        tokens = _batch_counts.tokens(batch)
        if not iterator._auto_collation:  # an item of the dataset may be a sample or a batch
            return 0, tokens
        size = getattr(iterator._index_sampler, "batch_size", None)
        whole = iterator._drop_last and iterator._dataset_kind == _DatasetKind.Map  # an iterable may yield fewer
        return _batch_counts.samples(batch, size if isinstance(size, int) else None, whole), tokens
    except Exception:  # a mapping or a tensor of the program's own class that misbehaves
        return 0, 0


class _Following:
    """The wrapped loaders, shared by all watches."""

    def __init__(self) -> None:
        self.active = False
        self.name = 0
        self.data = 0
        self._lock = Lock()
        self._watches = 0
        self._patched: list[tuple[type, str, Any, Any]] = []
        self._references: dict[int, weakref.ref[Any]] = {}  # by id of an iterator: closes its batch at its end

    def acquire(self) -> None:
        with self._lock:
            self._watches += 1
            if self._watches > 1:
                return
            self.name = _core.intern("batch of a DataLoader")
            self.data = _core.intern("DataLoader")
            self._patch(_BaseDataLoaderIter, "__next__", _followed_next)
            self.active = True
            self.follow_accelerate()

    def release(self) -> None:
        with self._lock:
            self._watches -= 1
            if self._watches > 0:
                return
            self.active = False
            for cls, method, original, ours in self._patched:
                if vars(cls).get(method) is ours:  # else another tool has wrapped ours, which only forwards now
                    setattr(cls, method, original)
            self._patched.clear()
            self._references.clear()
            found_steps.end_all()

    def _patch(self, cls: type, method: str, make: Callable[[Any], Any]) -> None:
        original = vars(cls)[method]
        ours = make(original)
        setattr(cls, method, ours)
        self._patched.append((cls, method, original, ours))

    def follow_accelerate(self) -> None:
        """Wrap accelerate's loaders, once it is imported."""
        module = sys.modules.get(_ACCELERATE)
        if module is None or len(self._patched) > 1:
            return
        for name in _ACCELERATE_LOADERS:
            cls = getattr(module, name, None)
            if cls is not None and "__iter__" in vars(cls):
                self._patch(cls, "__iter__", _followed_iter)

    def wait(self, ask: Callable[[Any], Any], iterator: Any) -> Any:
        """Fetch the next batch inside of a span."""
        found_steps.sweep()
        _thread.waits = True
        span = _core.span_begin(_DATA, self.data)
        try:
            return ask(iterator)
        finally:
            _core.span_end(span)
            _thread.waits = False

    def begin(self, iterator: Any, samples: int, tokens: int) -> None:
        """Open the batch of a PyTorch iterator, at most until the iterator is deleted."""
        key = id(iterator)
        reference = self._references.get(key)
        if reference is None:
            reference = self._references[key] = weakref.ref(iterator, lambda _: self._forget(key))
        persists = getattr(iterator, "_persistent_workers", False)
        is_left = functools.partial(_is_left, reference) if persists else None
        found_steps.begin(key, self.name, samples, tokens, is_left)

    def _forget(self, key: int) -> None:
        self._references.pop(key, None)
        found_steps.end(key)


def _is_left(iterator: weakref.ref[Any]) -> bool:
    """Whether a loop has left an iterator that the loader keeps for the next loop: only the loader holds it."""
    return _reference_count(iterator) <= _ONE_HOLDER


def _followed_next(original: Callable[[Any], Any]) -> Callable[[Any], Any]:
    @functools.wraps(original)
    def ask(self: Any) -> Any:
        if not _following.active or _thread.waits or get_worker_info() is not None:
            return original(self)
        found_steps.end(id(self))
        batch = _following.wait(original, self)
        if found_steps.are_needed:
            _following.begin(self, *_count(batch, self))
            _following.follow_accelerate()
        return batch

    return ask


def _batches(iterator: Iterator[Any]) -> Iterator[Any]:
    """Yield the items of `iterator`, each inside of a batch."""
    key = object()
    try:
        while True:
            inner = not _following.active or _thread.waits
            try:
                batch = next(iterator) if inner else _following.wait(next, iterator)
            except StopIteration:
                return
            if not inner:
                found_steps.begin(key, _following.name, *_count(batch))
            yield batch
            found_steps.end(key)
    finally:
        found_steps.end(key)


def _followed_iter(original: Callable[[Any], Iterator[Any]]) -> Callable[[Any], Iterator[Any]]:
    @functools.wraps(original)
    def begin(self: Any) -> Iterator[Any]:
        return _batches(original(self))

    return begin


_following = _Following()


class Loaders:
    """Follows all data loaders of this process until `remove()`."""

    def __init__(self) -> None:
        _following.acquire()

    def remove(self) -> None:
        """Stop following, unless another watch does."""
        _following.release()
