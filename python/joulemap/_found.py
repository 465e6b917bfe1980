"""Steps that are found where the program tells none: batches that are open, until the program tells its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable

from joulemap import _core

_BATCH = _core.SPAN_KINDS["batch"]
MOST = 2**32 - 1  # of what a span can count


class Found:
    """The batches of this process that are open.

    Attributes
    ----------
    told : bool
        The program tells its steps: no batch is begun any more.
    listener : callable or None
        Is called with the samples and tokens of each batch that a loader gives, also of steps that are told.
    """

    def __init__(self) -> None:
        self.told = False
        self.listener: Callable[[int, int], None] | None = None
        self._open: dict[Hashable, tuple[_core.Span, Callable[[], bool] | None]] = {}

    def reset(self) -> None:
        """Forget what was: a session begins, or a child of this process does, whose batches these are not."""
        self.told = False
        self.listener = None
        self._open.clear()

    def tell(self) -> None:
        """Let the program's own steps win."""
        self.told = True
        self.end_all()

    @property
    def listens(self) -> bool:
        """Whether anybody wants to know of a batch."""
        return not self.told or self.listener is not None

    def begin(
        self, key: Hashable, name: int, samples: int, tokens: int, is_left: Callable[[], bool] | None = None
    ) -> None:
        """Open the batch of `key`; `is_left`: whether it is over though nobody said so."""
        if self.listener is not None:
            self.listener(samples, tokens)
        if self.told:
            return
        span = _core.Span(_BATCH, name, 0, samples if samples <= MOST else 0)
        span.tokens = tokens if tokens <= MOST else 0
        self._open[key] = (span.begin(), is_left)

    def end(self, key: Hashable) -> None:
        """Close the batch of `key`, if it has one."""
        found = self._open.pop(key, None)
        if found is not None:
            found[0].end()

    def end_all(self) -> None:
        """Close all of them, the innermost first."""
        for key in reversed(tuple(self._open)):
            self.end(key)

    def sweep(self) -> None:
        """Close those that are over though nobody said so."""
        for key, (_, is_left) in reversed(tuple(self._open.items())):
            if is_left is not None and is_left():
                self.end(key)


found = Found()
os.register_at_fork(after_in_child=found.reset)
