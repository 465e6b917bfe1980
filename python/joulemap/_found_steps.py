"""Steps that are found where the program marks none: spans of the kind "batch"."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable

from joulemap import _core

_BATCH = _core.SPAN_KINDS["batch"]
MAX_COUNT = 2**32 - 1  # samples or tokens of a span


class FoundSteps:
    """The open batches of this process.

    Attributes
    ----------
    marked : bool
        The program marks its own steps: no batch begins any more.
    listener : callable or None
        Called with the samples and tokens of each batch of a data loader, also while `marked`.
    """

    def __init__(self) -> None:
        self.marked = False
        self.listener: Callable[[int, int], None] | None = None
        self._open: dict[Hashable, tuple[_core.Span, Callable[[], bool] | None]] = {}

    def reset(self) -> None:
        """Start anew in a new session, or in a forked child, which does not own its parent's batches."""
        self.marked = False
        self.listener = None
        self._open.clear()

    def use_marked(self) -> None:
        """Close all batches and begin none any more: the program marks its steps."""
        self.marked = True
        self.end_all()

    @property
    def are_needed(self) -> bool:
        """Whether batches become spans or have a listener."""
        return not self.marked or self.listener is not None

    def begin(
        self, key: Hashable, name: int, samples: int, tokens: int, is_left: Callable[[], bool] | None = None
    ) -> None:
        """Open the batch of `key`. `is_left` returns whether it is over without a call of `end`."""
        if self.listener is not None:
            self.listener(samples, tokens)
        if self.marked:
            return
        span = _core.Span(_BATCH, name, 0, samples if samples <= MAX_COUNT else 0)
        span.tokens = tokens if tokens <= MAX_COUNT else 0
        self._open[key] = (span.begin(), is_left)

    def has(self, key: Hashable) -> bool:
        """Return whether the batch of `key` is open."""
        return key in self._open

    def has_others(self, key: Hashable) -> bool:
        """Return whether another batch is open, or the program marks its own steps."""
        return self.marked or len(self._open) > (key in self._open)

    def count(self, key: Hashable, samples: int, tokens: int) -> None:
        """Add samples and tokens to the open batch of `key`."""
        span = self._open[key][0]
        span.samples = min(span.samples + samples, MAX_COUNT)
        span.tokens = min(span.tokens + tokens, MAX_COUNT)

    def end(self, key: Hashable) -> None:
        """Close the batch of `key`, if it has one."""
        opened = self._open.pop(key, None)
        if opened is not None:
            opened[0].end()

    def end_all(self) -> None:
        """Close all batches, the innermost first."""
        for key in reversed(tuple(self._open)):
            self.end(key)

    def sweep(self) -> None:
        """Close batches that are over without a call of `end`."""
        for key, (_, is_left) in reversed(tuple(self._open.items())):
            if is_left is not None and is_left():
                self.end(key)


found_steps = FoundSteps()
os.register_at_fork(after_in_child=found_steps.reset)
