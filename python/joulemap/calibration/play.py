"""Play the suite: bursts and gaps in a random, balanced order that stays below the board's power limit."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from joulemap import Session, _core
from joulemap._burst import Burst, Player
from joulemap.calibration.kernel import HEAVY
from joulemap.calibration.prepare import ENOUGH_S, Entry

GAPS_S = (0.0, 12e-3)
NO_GAP = 1 / 3
DWELLS_S = (5e-3, 150e-3)

# Power as shares of the power limit: maxima on an H200 with a limit of 700 W (940 W for products, 740 W for memory,
# 165 W between bursts), and the largest mean over the time constant of its limiter.
_HEAVY = 1.35
_LIGHT = 1.05
_REST = 0.25
_MAX_MEAN = 0.95
_LIMITER_S = 0.1


@dataclass
class Account:
    """The running mean of the board's power, as a share of its limit."""

    level: float = _REST

    def add(self, power: float, seconds: float) -> None:
        """Update the mean after some seconds at this power."""
        self.level = power + (self.level - power) * math.exp(-seconds / _LIMITER_S)

    def rest_before(self, power: float, seconds: float) -> float:
        """Return the seconds of rest after which a burst at `power` ends below the limit."""
        decay = math.exp(-seconds / _LIMITER_S)
        highest = max((_MAX_MEAN - power * (1 - decay)) / decay, 1.02 * _REST)
        if self.level <= highest:
            return 0.0
        return _LIMITER_S * math.log((self.level - _REST) / (highest - _REST))


@dataclass(frozen=True)
class PlannedBurst:
    """A burst of an entry, and the gap before it."""

    entry: Entry
    burst: Burst
    gap_s: float


def planned_bursts(
    entries: Sequence[Entry], chance: random.Random, enough_s: float = ENOUGH_S
) -> Iterator[PlannedBurst]:
    """Yield bursts until each entry has `enough_s` seconds. Each is random among the third with the least time so far.

    The bursts of an entry alternate in a random order that changes each round, so that all get equal time.
    """
    account = Account()
    played_s = [0.0] * len(entries)
    lengths: list[list[Burst]] = [[] for _ in entries]
    last = -1
    while True:
        waiting = sorted((s, i) for i, s in enumerate(played_s) if s < enough_s)
        if not waiting:
            return
        third = [i for _, i in waiting[: max(1, math.ceil(len(waiting) / 3))]]
        number = chance.choice([i for i in third if i != last] or third)
        entry = entries[number]
        if not lengths[number]:
            lengths[number] = chance.sample(entry.bursts, len(entry.bursts))
        burst = lengths[number].pop()
        seconds = burst.calls * entry.call_s
        power = _HEAVY if entry.family in HEAVY else _LIGHT
        gap_s = 0.0 if chance.random() < NO_GAP else chance.uniform(*GAPS_S)
        gap_s = max(gap_s, account.rest_before(power, seconds))
        account.add(_REST, gap_s)
        account.add(power, seconds)
        played_s[number] += seconds
        last = number
        yield PlannedBurst(entry, burst, gap_s)


@dataclass(frozen=True)
class PlayedSuite:
    """The number of played bursts, and the seconds of each entry."""

    bursts: int
    seconds: list[float]


def play_burst(run: Session, player: Player, entry: Entry, burst: Burst) -> float:
    """Play a burst in a window with the kernel's name and the kind of data as type; return its seconds.

    On the CPU the burst lasts as long as planned, whatever calls take. A span with the kernel as type is the work for
    which a simulated board draws power.
    """
    with run.window(entry.name, type=entry.data):
        if player.device.type != "cpu":
            return burst.play()
        with _core.Span(_core.SPAN_KINDS["forward"], f"{entry.name} ({entry.data})", _core.intern(entry.name)):
            begin_s = time.perf_counter()
            until_s = begin_s + burst.calls * entry.call_s
            while time.perf_counter() < until_s:
                burst.call()
            return time.perf_counter() - begin_s


def play(
    run: Session,
    player: Player,
    entries: Sequence[Entry],
    seconds: float,
    chance: random.Random,
    on_progress: Callable[[float], None] = lambda share: None,
) -> PlayedSuite:
    """Play for at most `seconds`."""
    begin_s = time.monotonic()
    played_s = {id(entry): 0.0 for entry in entries}
    bursts = 0
    player.synchronize()
    for planned in planned_bursts(entries, chance):
        past_s = time.monotonic() - begin_s
        if past_s >= seconds:
            break
        on_progress(past_s / seconds)
        if planned.gap_s > 0:
            time.sleep(planned.gap_s)
        played_s[id(planned.entry)] += play_burst(run, player, planned.entry, planned.burst)
        bursts += 1
    return PlayedSuite(bursts, list(played_s.values()))


def square_wave(
    run: Session,
    player: Player,
    entry: Entry,
    seconds: float,
    chance: random.Random,
    on_progress: Callable[[float], None] = lambda share: None,
) -> int:
    """Alternate between a heavy kernel and rest, each for a random time; return the number of periods.

    This shows the response and the lag of the sensor.
    """
    begin_s = time.monotonic()
    periods = 0
    while (now_s := time.monotonic()) < begin_s + seconds:
        on_progress((now_s - begin_s) / seconds)
        until_s = now_s + chance.uniform(*DWELLS_S)
        while time.monotonic() < until_s:
            play_burst(run, player, entry, entry.bursts[0])
        time.sleep(chance.uniform(*DWELLS_S))
        periods += 1
    player.synchronize()
    return periods
