"""Windows of bursts of several parts, in rounds, until the energy of each call is known well enough."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import torch

from joulemap import Session, _core, boards
from joulemap._burst import CALLS, GRAPH, Burst, Call, CaptureError, Player, call_seconds, warm_up
from joulemap._isolation.regression import Estimate, Window, estimate
from joulemap._isolation.settings import SETTINGS, Duty

LEAST_ROUNDS = 2
_FORWARD = _core.SPAN_KINDS["forward"]
_TIMED_S = 5e-3
_LEAST_CALL_S = 0.5e-6  # a kernel in a graph takes a microsecond at least
_INTERVAL_U = 2 * 1.96  # ends of a 95 % interval are so many standard uncertainties apart


@dataclass(frozen=True)
class Played:
    """A window as it was played, and what the board's sensors said of it; None: nothing yet."""

    from_ns: int
    to_ns: int
    calls: int
    bursts: int
    busy_s: float
    series: int
    factor: float
    energy_j: float | None = None
    u_j: float = 0.0
    clock_mhz: float | None = None

    def window(self, calls: float) -> Window:
        """Return what the regression needs of it."""
        assert self.energy_j is not None
        gap_s = max(0.0, (self.to_ns - self.from_ns) / 1e9 - self.busy_s)
        return Window(calls, self.bursts, gap_s, self.energy_j, self.u_j, self.series)


@dataclass(frozen=True)
class Figure:
    """Energy of a call with the half of its 95 % interval, J, power of the gaps, W, time, s, clock, MHz."""

    energy_j: float
    half_j: float
    gap_w: float
    call_s: float
    clock_mhz: float | None


@dataclass
class Part:
    """Something to call, and the windows it ran in.

    Attributes
    ----------
    name, type : str
        Of its spans: a layer's path, its class of work.
    call : callable
        The call.
    call_s : float
        Seconds of a call; 0 before `make_ready`.
    how, why : str
        "graph" or "calls", and why no graph can hold it.
    """

    name: str
    type: str
    call: Call
    call_s: float = 0.0
    how: str = GRAPH
    why: str = ""
    played: list[Played] = field(default_factory=list)
    duty: Duty = field(default_factory=lambda: Duty(None))

    @property
    def rounds(self) -> int:
        """How many rounds it has had."""
        return len({one.series for one in self.played})

    def _counted(self) -> list[Played]:
        """Return the windows of those rounds in which the clock was the wanted one, else of those nearest to it."""
        known = [one for one in self.played if one.energy_j is not None]
        matching = [one for one in known if self.duty.matches(self.clock_of(one.series))]
        wanted = self.duty.wanted_mhz
        if matching or wanted is None or not known:
            return matching or known
        off = {s: abs((self.clock_of(s) or 0.0) - wanted) for s in {one.series for one in known}}
        nearest = sorted(off, key=lambda s: off[s])[:LEAST_ROUNDS]
        return [one for one in known if one.series in nearest]

    def clock_of(self, series: int | None = None) -> float | None:
        """Return the mean clock while it ran, of a round or of all that count, MHz; None if not recorded."""
        of = self._counted() if series is None else [one for one in self.played if one.series == series]
        clocks = [(one.clock_mhz, one.busy_s) for one in of if one.clock_mhz is not None]
        total_s = sum(busy_s for _, busy_s in clocks)
        return sum(mhz * busy_s for mhz, busy_s in clocks) / total_s if total_s > 0 else None

    def figure(self) -> Figure | None:
        """Return the energy of a call; None if not known yet."""
        counted = self._counted()
        if not counted:
            return None
        call_s = sum(one.busy_s for one in counted) / sum(one.calls for one in counted)
        # How long a plain call takes the host decides, and burst by burst otherwise: then a call is its mean time.
        # In a graph the same kernels run each time; where the clock differs, their energy does less than their time.
        calls = [one.busy_s / call_s if self.how == CALLS else one.calls for one in counted]
        found: Estimate | None = estimate([one.window(n) for one, n in zip(counted, calls, strict=True)])
        if found is None:
            return None
        return Figure(found.energy_j, found.half_j, found.gap_w, call_s, self.clock_of())


@dataclass(frozen=True)
class Quantity:
    """What is wanted: the energy of a call of `whole`, without that of the part of it that does not belong there."""

    whole: Part
    less: Part | None = None

    @property
    def parts(self) -> list[Part]:
        """What must be measured for it."""
        return [self.whole] if self.less is None else [self.whole, self.less]

    def figure(self) -> Figure | None:
        """Return it; None if not known yet. Errors of the two parts are independent."""
        figure = self.whole.figure()
        if self.less is None or figure is None:
            return figure
        other = self.less.figure()
        if other is None:
            return None
        return replace(
            figure,
            energy_j=figure.energy_j - other.energy_j,
            half_j=math.hypot(figure.half_j, other.half_j),
            call_s=max(0.0, figure.call_s - other.call_s),
        )

    def is_known(self, precision: float) -> bool:
        """Return whether half of the interval is at most this share of the energy."""
        figure = self.figure()
        return figure is not None and figure.half_j <= precision * abs(figure.energy_j)


class Board:
    """The board that a device is, as a session records it.

    Parameters
    ----------
    run : Session
        A running one.
    device : torch.device
        A GPU of CUDA; the CPU stands for a simulated board.

    Attributes
    ----------
    id : int
        Its number in the recording; 0 if there is no other.
    simulated : bool
        It is a simulated one.

    Raises
    ------
    RuntimeError
        If the session records no such board.
    """

    def __init__(self, run: Session, device: torch.device) -> None:
        self._run = run
        report = run.report(by="board")
        self.simulated = report.totals.simulated
        gpus = [row for row in report.rows if row.kind == "gpu"]
        if device.type == "cpu" and not (gpus and self.simulated):
            raise RuntimeError("the model is on the CPU: isolate() measures GPUs (or the simulated one)")
        index = device.index or 0
        if self.simulated:
            found = [row.path for row in gpus[index : index + 1]]
        else:
            uuids = [one.uuid for one in boards() if one.cuda_index == index and one.uuid]
            found = [row.path for row in gpus if row.path in uuids]
        if not found:
            seen = ", ".join(row.name for row in gpus) or "none"
            raise RuntimeError(f"the session does not record the GPU of {device}; those it records: {seen}")
        alone = len(gpus) == 1 and all(row.kind in ("gpu", "unresolved") for row in report.rows)
        self.gpu = None if alone else next(int(row.boards) for row in gpus if row.path == found[0])

    def measure(self, one: Played) -> Played:
        """Return the window with its energy, joules, and the clock while its calls ran."""
        report = self._run.report(by="board", gpu=self.gpu, from_ns=one.from_ns, to_ns=one.to_ns)
        totals = report.totals
        if totals.total_energy_j is None or totals.total_low_j is None or totals.total_high_j is None:
            raise RuntimeError("the board gave no readings")
        u_j = (totals.total_high_j - totals.total_low_j) / _INTERVAL_U
        return replace(one, energy_j=totals.total_energy_j, u_j=u_j, clock_mhz=report.quality.clock_mhz)


def make_ready(player: Player, part: Part) -> None:
    """Warm the part up and time a call; where no graph can hold it, plain calls will do.

    Raises
    ------
    RuntimeError
        If it cannot be called, or does nothing on the device.
    """
    try:
        part.call_s = call_seconds(player, part.call, _TIMED_S)
        part.how = player.how
        if part.how == GRAPH and part.call_s < _LEAST_CALL_S:
            raise RuntimeError("it runs no kernel")
    except CaptureError as error:
        part.call_s = warm_up(player, part.call)
        part.how, part.why = CALLS, str(error)


def play_round(player: Player, part: Part, window_s: float, chance: random.Random, between: Callable[[], None]) -> None:
    """Play the part once in each setting, in random order."""
    settings = chance.sample(SETTINGS, len(SETTINGS))
    series, factor = part.rounds, part.duty.factor
    for setting in settings:
        calls = setting.calls(part.call_s)
        between()
        make = player.burst if part.how == GRAPH else player.plain
        part.played.append(_play(part, make(part.call, calls), setting.rest_s(part.call_s, factor), window_s, series))


def _play(part: Part, burst: Burst, rest_s: float, window_s: float, series: int) -> Played:
    """Play one window of bursts; each is a span, by which the board's clock during it is known."""
    span = _core.Span(_FORWARD, part.name, _core.intern(part.type))
    bursts, busy_s = 0, 0.0
    begin_ns = time.monotonic_ns()
    while time.monotonic_ns() - begin_ns < window_s * 1e9:
        with span:
            busy_s += burst.play()
        bursts += 1
        time.sleep(rest_s)
    end_ns = time.monotonic_ns()
    return Played(begin_ns, end_ns, bursts * burst.calls, bursts, busy_s, series, part.duty.factor)


def measure(
    player: Player,
    board: Board,
    quantities: Sequence[Quantity],
    *,
    window_s: float,
    chance: random.Random,
    seconds: float | None = None,
    precision: float = 0.0,
    told: Callable[[float], None] = lambda share: None,
    between: Callable[[], None] = lambda: None,
) -> None:
    """Play rounds of all parts, in random order, until each quantity is known, or the time is up; two at least.

    Parameters
    ----------
    player : Player
        Plays the bursts.
    board : Board
        Gives the energy of windows.
    quantities : list of Quantity
        Their parts made ready; windows are added to these.
    window_s : float
        Of bursts in one setting.
    chance : random.Random
        Decides the order.
    seconds : float, optional
        Time after which no third round begins; without it there are two rounds.
    precision : float
        Half of a 95 % interval, as a share of the energy, at which a quantity is known.
    told : callable
        Hears how far it is, 0 to 1.
    between : callable
        Runs before each window: what keeps the board as warm as a program does, say. It leaves the board at rest.
    """
    begin_s = time.monotonic()
    parts = _parts_of(quantities)
    waiting = parts
    done = 0
    while waiting:
        for part in chance.sample(waiting, len(waiting)):
            past_s = time.monotonic() - begin_s
            if part.rounds >= LEAST_ROUNDS and (seconds is None or past_s >= seconds):
                continue
            share = min(1.0, done / (LEAST_ROUNDS * len(parts)))
            told(share if seconds is None else min(share, max(0.5 * share, past_s / seconds)))
            play_round(player, part, window_s, chance, between)
            done += 1
        for part in waiting:
            part.played = [one if one.energy_j is not None else board.measure(one) for one in part.played]
            part.duty.learn(part.played[-1].factor, part.clock_of(part.rounds - 1))
        if min(part.rounds for part in waiting) < LEAST_ROUNDS:
            continue
        if seconds is None or time.monotonic() - begin_s >= seconds:
            return
        waiting = _parts_of([quantity for quantity in quantities if not quantity.is_known(precision)])


def _parts_of(quantities: Sequence[Quantity]) -> list[Part]:
    """Return the parts of several quantities, each once."""
    return list({id(part): part for quantity in quantities for part in quantity.parts}.values())
