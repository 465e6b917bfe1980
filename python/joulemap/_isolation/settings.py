"""Settings of bursts and gaps, and the duty at which the board runs at a wanted clock."""

from __future__ import annotations

from dataclasses import dataclass, field

SAME_CLOCK = 0.01  # share by which a clock may be another and counts as the same
_LEAST_FACTOR = 1 / 32
_MOST_FACTOR = 16.0


@dataclass(frozen=True)
class Setting:
    """Bursts of about `burst_s`, each followed by `gap_s` of rest; at least `least_calls` in a burst.

    Where a call is longer than a burst, the gap grows with it.
    """

    burst_s: float
    gap_s: float
    least_calls: int

    def calls(self, call_s: float) -> int:
        """Return the calls of a burst."""
        return max(self.least_calls, round(self.burst_s / call_s))

    def rest_s(self, call_s: float, factor: float = 1.0) -> float:
        """Return the gap, `factor` times as long as usual."""
        return factor * self.gap_s / self.burst_s * max(self.burst_s, call_s)


# Duties of 20 to 50 %, in several ways: they keep a board that draws 1.35 times its power limit in a burst under it.
SETTINGS = (
    Setting(2e-3, 8e-3, 1),
    Setting(4e-3, 4e-3, 1),
    Setting(4e-3, 8e-3, 2),
    Setting(8e-3, 8e-3, 2),
    Setting(8e-3, 16e-3, 3),
)


@dataclass
class Duty:
    """The factor of all gaps, moved from round to round until the clock is the wanted one.

    Attributes
    ----------
    wanted_mhz : float or None
        None: gaps stay as they are.
    factor : float
        Of the next round.
    """

    wanted_mhz: float | None
    factor: float = 1.0
    _too_short: float | None = field(default=None, repr=False)  # the longest gaps at which the clock was too low
    _too_long: float | None = field(default=None, repr=False)  # the shortest at which it was too high

    def matches(self, clock_mhz: float | None) -> bool:
        """Return whether this clock is the wanted one, within 1 %."""
        if self.wanted_mhz is None:
            return True
        return clock_mhz is not None and abs(clock_mhz / self.wanted_mhz - 1) <= SAME_CLOCK

    def learn(self, factor: float, clock_mhz: float | None) -> None:
        """Choose the next factor, after a round at this one ran at this clock."""
        if self.wanted_mhz is None or clock_mhz is None or self.matches(clock_mhz):
            return
        if clock_mhz > self.wanted_mhz:
            self._too_long = factor if self._too_long is None else min(factor, self._too_long)
        else:
            self._too_short = factor if self._too_short is None else max(factor, self._too_short)
        if self._too_long is not None and self._too_short is not None and self._too_short < self._too_long:
            self.factor = (self._too_long * self._too_short) ** 0.5
            return
        # One side is open, or a noisy clock has put the sides the wrong way round: step, and forget the other side.
        if clock_mhz > self.wanted_mhz:
            self._too_short, self.factor = None, max(_LEAST_FACTOR, factor / 2)
        else:
            self._too_long, self.factor = None, min(_MOST_FACTOR, factor * 2)
