"""Settings of bursts and gaps, and the duty cycle at which the board runs at a target clock."""

from __future__ import annotations

from dataclasses import dataclass, field

SAME_CLOCK = 0.01  # relative tolerance of equal clocks
_LEAST_FACTOR = 1 / 32
_MOST_FACTOR = 16.0


@dataclass(frozen=True)
class Setting:
    """Bursts of about `burst_s` seconds with at least `least_calls` calls, each followed by a gap of `gap_s` seconds.

    If a call is longer than a burst, the gap grows with it.
    """

    burst_s: float
    gap_s: float
    least_calls: int

    def calls(self, call_s: float) -> int:
        """Return the calls of a burst."""
        return max(self.least_calls, round(self.burst_s / call_s))

    def rest_s(self, call_s: float, factor: float = 1.0) -> float:
        """Return the length of the gap, times `factor`."""
        return factor * self.gap_s / self.burst_s * max(self.burst_s, call_s)


# Duty cycles of 20 to 50 %: a board that draws 1.35 times its power limit in bursts stays below the limit.
SETTINGS = (
    Setting(2e-3, 8e-3, 1),
    Setting(4e-3, 4e-3, 1),
    Setting(4e-3, 8e-3, 2),
    Setting(8e-3, 8e-3, 2),
    Setting(8e-3, 16e-3, 3),
)


@dataclass
class Duty:
    """The factor of all gaps, adjusted from round to round until the board runs at the target clock.

    Attributes
    ----------
    target_mhz : float or None
        The target clock, MHz; None: gaps are not adjusted.
    factor : float
        Factor of the gaps in the next round.
    """

    target_mhz: float | None
    factor: float = 1.0
    _too_short: float | None = field(default=None, repr=False)  # the longest gaps at which the clock was too low
    _too_long: float | None = field(default=None, repr=False)  # the shortest gaps at which it was too high

    def matches(self, clock_mhz: float | None) -> bool:
        """Return whether this clock is the target, within 1 %."""
        if self.target_mhz is None:
            return True
        return clock_mhz is not None and abs(clock_mhz / self.target_mhz - 1) <= SAME_CLOCK

    def learn(self, factor: float, clock_mhz: float | None) -> None:
        """Choose the next factor after a round with this factor ran at this clock."""
        if self.target_mhz is None or clock_mhz is None or self.matches(clock_mhz):
            return
        if clock_mhz > self.target_mhz:
            self._too_long = factor if self._too_long is None else min(factor, self._too_long)
        else:
            self._too_short = factor if self._too_short is None else max(factor, self._too_short)
        if self._too_long is not None and self._too_short is not None and self._too_short < self._too_long:
            self.factor = (self._too_long * self._too_short) ** 0.5
            return
        # One bound is missing, or a noisy clock has swapped the bounds: take a step, and forget the other bound.
        if clock_mhz > self.target_mhz:
            self._too_short, self.factor = None, max(_LEAST_FACTOR, factor / 2)
        else:
            self._too_long, self.factor = None, min(_MOST_FACTOR, factor * 2)
