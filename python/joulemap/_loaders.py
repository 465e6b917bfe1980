"""Batches of data loaders as steps, and the wait for them.

The iterators of `torch.utils.data.DataLoader` share one `__next__`, of a class that has had its name since PyTorch 1.2.
While a model is watched, that method is ours: it asks PyTorch's own. The wait is a span "data". What follows is a span
"batch", until the iterator is asked again, is at its end, or goes away, as after `break`.

The loaders of accelerate, which Hugging Face's Trainer uses, fetch a batch ahead. There the generator that the loop
sees is followed, and what it asks for inside is a part of its wait.
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

from joulemap import _batch, _core
from joulemap._found import found
from joulemap._locks import Lock

_DATA = _core.SPAN_KINDS["data"]
_ACCELERATE = "accelerate.data_loader"
_AHEAD = ("DataLoaderShard", "DataLoaderDispatcher", "SkipDataLoader")  # classes of accelerate, with an __iter__ each


class _Thread(threading.local):
    waits = False  # for a loader: one inside it is a part of it


class _Kept:
    """Something that one attribute holds, as a loader with persistent workers holds its iterator."""

    def __init__(self) -> None:
        self.held = object()


def _references(holder: Callable[[], Any]) -> int:
    return sys.getrefcount(holder())


_kept = _Kept()
_ALONE = _references(lambda: _kept.held)
_thread = _Thread()


def _count(batch: Any, iterator: Any = None) -> tuple[int, int]:
    """Return the samples and tokens of a batch, of an iterator of PyTorch or None; never fails the program."""
    if iterator is None:
        return _batch.count(batch)
    try:
        tokens = _batch.tokens(batch)
        if not iterator._auto_collation:  # the dataset gives what it wants: batches, or a sample each
            return 0, tokens
        size = getattr(iterator._index_sampler, "batch_size", None)
        whole = iterator._drop_last and iterator._dataset_kind == _DatasetKind.Map  # an iterable may give less
        return _batch.samples(batch, size if isinstance(size, int) else None, whole), tokens
    except Exception:  # a mapping or a tensor of the program's own, that is none after all
        return 0, 0


class _Following:
    """Who follows loaders, and what was put in the place of what."""

    def __init__(self) -> None:
        self.active = False
        self.name = 0
        self.data = 0
        self._lock = Lock()
        self._watches = 0
        self._patched: list[tuple[type, str, Any, Any]] = []
        self._gone: dict[int, weakref.ref[Any]] = {}  # by id of an iterator: closes its batch when it goes away

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
                if vars(cls).get(method) is ours:  # else someone has put theirs around it, which now asks in vain
                    setattr(cls, method, original)
            self._patched.clear()
            self._gone.clear()
            found.end_all()

    def _patch(self, cls: type, method: str, make: Callable[[Any], Any]) -> None:
        original = vars(cls)[method]
        ours = make(original)
        setattr(cls, method, ours)
        self._patched.append((cls, method, original, ours))

    def follow_accelerate(self) -> None:
        """Follow its loaders, too, once it is there."""
        module = sys.modules.get(_ACCELERATE)
        if module is None or len(self._patched) > 1:
            return
        for name in _AHEAD:
            cls = getattr(module, name, None)
            if cls is not None and "__iter__" in vars(cls):
                self._patch(cls, "__iter__", _followed_iter)

    def wait(self, ask: Callable[[Any], Any], iterator: Any) -> Any:
        """Ask for the next batch, in a span of its own."""
        found.sweep()
        _thread.waits = True
        span = _core.span_begin(_DATA, self.data)
        try:
            return ask(iterator)
        finally:
            _core.span_end(span)
            _thread.waits = False

    def begin(self, iterator: Any, samples: int, tokens: int) -> None:
        """Open the batch of an iterator of PyTorch: until it goes away."""
        key = id(iterator)
        reference = self._gone.get(key)
        if reference is None:
            reference = self._gone[key] = weakref.ref(iterator, lambda _: self._forget(key))
        kept = getattr(iterator, "_persistent_workers", False)
        found.begin(key, self.name, samples, tokens, functools.partial(_is_left, reference) if kept else None)

    def _forget(self, key: int) -> None:
        self._gone.pop(key, None)
        found.end(key)


def _is_left(iterator: weakref.ref[Any]) -> bool:
    """Whether a loop has left an iterator that its loader keeps for the next one: nobody else holds it."""
    return _references(iterator) <= _ALONE


def _followed_next(original: Callable[[Any], Any]) -> Callable[[Any], Any]:
    @functools.wraps(original)
    def ask(self: Any) -> Any:
        if not _following.active or _thread.waits or get_worker_info() is not None:
            return original(self)
        found.end(id(self))
        batch = _following.wait(original, self)
        if found.listens:
            _following.begin(self, *_count(batch, self))
            _following.follow_accelerate()
        return batch

    return ask


def _batches(iterator: Iterator[Any]) -> Iterator[Any]:
    """Give what `iterator` gives, each a batch until the next one is asked for."""
    key = object()
    try:
        while True:
            inner = not _following.active or _thread.waits
            try:
                batch = next(iterator) if inner else _following.wait(next, iterator)
            except StopIteration:
                return
            if not inner:
                found.begin(key, _following.name, *_count(batch))
            yield batch
            found.end(key)
    finally:
        found.end(key)


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
        """Follow them no longer, unless others do."""
        _following.release()
