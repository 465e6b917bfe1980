"""Intervals of a training for its log: interrupted phases and epochs, and steps."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from joulemap._scope import Scope

Joules = Callable[[int, int], float | None]
"""Returns the joules between two times (CLOCK_MONOTONIC, nanoseconds); None: no sensor measured them."""

_MAX_INTERVALS = 64  # of a part, before their joules are added up
_MAX_STEPS = 1024  # that wait for the log, before adjacent ones are merged, or the oldest dropped


class Part:
    """A phase or an epoch. While another phase interrupts it, the time belongs to that phase alone.

    Parameters
    ----------
    name : str
    make : callable
        Makes a scope of this name.
    joules : callable or None
        Returns joules; None: they are not needed.
    """

    def __init__(self, name: str, make: Callable[[str], Scope], joules: Joules | None) -> None:
        self.name = name
        self._make = make
        self._joules = joules
        self._scope: Scope | None = None
        self._intervals: list[tuple[int, int]] = []
        self._known_j: float | None = 0.0  # of earlier intervals

    @property
    def is_open(self) -> bool:
        """Whether it is running, not interrupted."""
        return self._scope is not None

    def begin(self) -> int:
        """Begin or resume; return the time (CLOCK_MONOTONIC, nanoseconds)."""
        if self._scope is None:
            self._scope = self._make(self.name)
            self._scope.__enter__()
        return self._scope.start_ns or 0

    def end(self, error: type[BaseException] | None = None) -> None:
        """End, or pause for another part; `error` is the type of an exception that ends it."""
        scope, self._scope = self._scope, None
        if scope is None:
            return
        scope.__exit__(error, None, None)
        if self._joules is not None:
            self._intervals.append((scope.start_ns or 0, scope.end_ns or 0))
            if len(self._intervals) == _MAX_INTERVALS:
                self.energy_j()

    def energy_j(self) -> float | None:
        """Return its joules up to its last end. This waits for the sensors' next readings, some 0.1 s."""
        if self._joules is None:
            return None
        for start_ns, end_ns in reversed(self._intervals):  # only the newest one waits for readings
            interval_j = self._joules(start_ns, end_ns)
            self._known_j = None if self._known_j is None or interval_j is None else self._known_j + interval_j
        self._intervals.clear()
        return self._known_j


class Steps(NamedTuple):
    """Consecutive steps of a training, from the end of the previous step to the end of the last."""

    start_ns: int
    end_ns: int
    steps: int
    samples: int
    tokens: int


def _joined(a: Steps, b: Steps) -> Steps:
    return Steps(a.start_ns, b.end_ns, a.steps + b.steps, a.samples + b.samples, a.tokens + b.tokens)


class Ledger:
    """Steps whose joules are not in the log yet."""

    def __init__(self) -> None:
        self._steps: deque[Steps] = deque()

    def add(self, steps: Steps) -> None:
        """Add steps that have ended."""
        self._steps.append(steps)
        if len(self._steps) >= _MAX_STEPS:
            self._steps = deque(_neighbours_joined(self._steps, 2))
            while len(self._steps) > _MAX_STEPS * 3 // 4:  # almost none are adjacent
                self._steps.popleft()

    def take(self, until_ns: int) -> list[Steps]:
        """Take out the steps that ended before this time, adjacent ones merged."""
        taken = []
        while self._steps and self._steps[0].end_ns <= until_ns:
            taken.append(self._steps.popleft())
        return _neighbours_joined(taken, len(taken))


def _neighbours_joined(steps: list[Steps] | deque[Steps], most: int) -> list[Steps]:
    """Return steps with adjacent ones merged, up to `most` in one."""
    joined: list[Steps] = []
    merged = 0
    for each in steps:
        if joined and merged < most and joined[-1].end_ns == each.start_ns:
            joined[-1] = _joined(joined[-1], each)
            merged += 1
        else:
            joined.append(each)
            merged = 1
    return joined
