"""Intervals of time of a training whose joules are asked for: of a part that others interrupt, and of steps."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from joulemap._scope import Scope

Joules = Callable[[int, int], float | None]
"""Gives the joules between two times (CLOCK_MONOTONIC, nanoseconds); None: no sensor tells."""

_MOST_INTERVALS = 64  # of a part, before their joules are added up
_MOST_STEPS = 1024  # that wait to be told, before neighbours become one, or the oldest go


class Part:
    """A phase or an epoch: another phase may interrupt it, and then has the time alone.

    Parameters
    ----------
    name : str
    make : callable
        Makes a scope of its kind and name.
    joules : callable or None
        Gives joules; None: nobody will ask for them.
    """

    def __init__(self, name: str, make: Callable[[str], Scope], joules: Joules | None) -> None:
        self.name = name
        self._make = make
        self._joules = joules
        self._scope: Scope | None = None
        self._intervals: list[tuple[int, int]] = []
        self._known_j: float | None = 0.0  # of intervals before

    @property
    def is_open(self) -> bool:
        """Whether it has the time now."""
        return self._scope is not None

    def begin(self) -> int:
        """Begin, or go on; return when (CLOCK_MONOTONIC)."""
        if self._scope is None:
            self._scope = self._make(self.name)
            self._scope.__enter__()
        return self._scope.start_ns or 0

    def end(self, error: type[BaseException] | None = None) -> None:
        """End, or stop for another part; `error` is what ends it, if that is an exception."""
        scope, self._scope = self._scope, None
        if scope is None:
            return
        scope.__exit__(error, None, None)
        if self._joules is not None:
            self._intervals.append((scope.start_ns or 0, scope.end_ns or 0))
            if len(self._intervals) == _MOST_INTERVALS:
                self.energy_j()

    def energy_j(self) -> float | None:
        """Return its joules up to its last end; it waits for the sensors' next readings, some 0.1 s."""
        if self._joules is None:
            return None
        for start_ns, end_ns in reversed(self._intervals):  # after the newest one, the others are there
            interval_j = self._joules(start_ns, end_ns)
            self._known_j = None if self._known_j is None or interval_j is None else self._known_j + interval_j
        self._intervals.clear()
        return self._known_j


class Steps(NamedTuple):
    """Steps of a training that follow each other, from the end of the one before to the end of the last."""

    start_ns: int
    end_ns: int
    steps: int
    samples: int
    tokens: int


def _joined(a: Steps, b: Steps) -> Steps:
    return Steps(a.start_ns, b.end_ns, a.steps + b.steps, a.samples + b.samples, a.tokens + b.tokens)


class Ledger:
    """Steps whose joules nobody has been told of yet."""

    def __init__(self) -> None:
        self._steps: deque[Steps] = deque()

    def add(self, steps: Steps) -> None:
        """Note steps that have ended."""
        self._steps.append(steps)
        if len(self._steps) >= _MOST_STEPS:
            self._steps = deque(_neighbours_joined(self._steps, 2))
            while len(self._steps) > _MOST_STEPS * 3 // 4:  # something lies between almost all of them
                self._steps.popleft()

    def take(self, until_ns: int) -> list[Steps]:
        """Take out those that ended before this time, what follows each other in one."""
        taken = []
        while self._steps and self._steps[0].end_ns <= until_ns:
            taken.append(self._steps.popleft())
        return _neighbours_joined(taken, len(taken))


def _neighbours_joined(steps: list[Steps] | deque[Steps], most: int) -> list[Steps]:
    """Return steps with neighbours in one, up to so many each."""
    joined: list[Steps] = []
    inside = 0
    for one in steps:
        if joined and inside < most and joined[-1].end_ns == one.start_ns:
            joined[-1] = _joined(joined[-1], one)
            inside += 1
        else:
            joined.append(one)
            inside = 1
    return joined
