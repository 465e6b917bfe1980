"""Locks that a forked child can take: the thread that held one as the process forked is not in the child."""

from __future__ import annotations

import os
import threading
import weakref


class Lock:
    """A lock of one thread, which may take it again; in a forked child nobody has it but the thread that forked."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        _all.add(self)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def renew(self) -> None:
        """In a child of this process."""
        if self._lock.acquire(blocking=False):
            self._lock.release()
        else:
            self._lock = threading.RLock()


def _renew_all() -> None:
    for lock in tuple(_all):
        lock.renew()


_all: weakref.WeakSet[Lock] = weakref.WeakSet()
os.register_at_fork(after_in_child=_renew_all)
