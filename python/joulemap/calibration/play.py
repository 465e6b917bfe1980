"""Playing the suite: bursts and gaps in a random, balanced order that the board's power limit does not reach."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from joulemap import Session, _core
from joulemap._burst import Burst, Player
from joulemap.calibration.kernel import HEAVY
from joulemap.calibration.ready import ENOUGH_S, Entry

GAPS_S = (0.0, 12e-3)
NO_GAP = 1 / 3
DWELLS_S = (5e-3, 150e-3)

# What a board draws, as parts of its power limit: the most that was seen on an H200 (940 W of 700 W for products,
# 740 W for memory, 165 W between bursts), and the mean over some time constants of its limiter that stays below it.
_HEAVY = 1.35
_LIGHT = 1.05
_REST = 0.25
_MEAN = 0.95
_MEMORY_S = 0.1


@dataclass
class Account:
    """The running mean of the board's power, in parts of its limit, as bursts and gaps move it."""

    level: float = _REST

    def add(self, power: float, seconds: float) -> None:
        """Move the mean by so many seconds at this power."""
        self.level = power + (self.level - power) * math.exp(-seconds / _MEMORY_S)

    def rest_before(self, power: float, seconds: float) -> float:
        """Return the seconds of rest after which a burst at `power` ends below the limit."""
        kept = math.exp(-seconds / _MEMORY_S)
        bearable = max((_MEAN - power * (1 - kept)) / kept, 1.02 * _REST)
        if self.level <= bearable:
            return 0.0
        return _MEMORY_S * math.log((self.level - _REST) / (bearable - _REST))


@dataclass(frozen=True)
class Turn:
    """One burst of an entry, after a gap."""

    entry: Entry
    burst: Burst
    gap_s: float


def turns(entries: Sequence[Entry], chance: random.Random, enough_s: float = ENOUGH_S) -> Iterator[Turn]:
    """Yield turns until each entry has `enough_s` of time: at random among the third that has had least so far.

    Each entry plays its lengths in turn, in an order that changes from round to round, so all get equal time.
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
        yield Turn(entry, burst, gap_s)


@dataclass(frozen=True)
class Played:
    """What was played: bursts, and seconds of each entry."""

    bursts: int
    seconds: list[float]


def play_burst(run: Session, player: Player, entry: Entry, burst: Burst) -> float:
    """Play a burst in a window named by its kernel, its type the kind of data; return its seconds.

    On the CPU the burst lasts as long as was planned, however slow calls are just then, and a span in it, typed by the
    kernel, is the work that a simulated board draws power for.
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
    told: Callable[[float], None] = lambda share: None,
) -> Played:
    """Play for so many seconds at most."""
    begin_s = time.monotonic()
    played_s = {id(entry): 0.0 for entry in entries}
    bursts = 0
    player.synchronize()
    for turn in turns(entries, chance):
        past_s = time.monotonic() - begin_s
        if past_s >= seconds:
            break
        told(past_s / seconds)
        if turn.gap_s > 0:
            time.sleep(turn.gap_s)
        played_s[id(turn.entry)] += play_burst(run, player, turn.entry, turn.burst)
        bursts += 1
    return Played(bursts, list(played_s.values()))


def square_wave(run: Session, player: Player, entry: Entry, seconds: float, chance: random.Random) -> int:
    """Switch between a heavy kernel and rest, each for a random time; return how often it was switched on.

    Out of it the sensor's response and lag are learnt.
    """
    end_s = time.monotonic() + seconds
    times = 0
    while (now_s := time.monotonic()) < end_s:
        until_s = now_s + chance.uniform(*DWELLS_S)
        with run.window(entry.name, type=entry.data):
            while time.monotonic() < until_s:
                entry.bursts[0].play()
        time.sleep(chance.uniform(*DWELLS_S))
        times += 1
    player.synchronize()
    return times
