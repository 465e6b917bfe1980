"""Locks that stay usable in a forked child, which does not have the thread that held one."""

from __future__ import annotations

import os
import threading
import weakref


class Lock:
    """A reentrant lock. In a forked child it is free, unless the thread that forked held it."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        _all.add(self)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def renew(self) -> None:
        """Free the lock in a forked child."""
        if self._lock.acquire(blocking=False):
            self._lock.release()
        else:
            self._lock = threading.RLock()


def _renew_all() -> None:
    for lock in tuple(_all):
        lock.renew()


_all: weakref.WeakSet[Lock] = weakref.WeakSet()
os.register_at_fork(after_in_child=_renew_all)
