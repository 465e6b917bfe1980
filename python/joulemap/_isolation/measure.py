"""Play windows of bursts in rounds, until the energy of each call is known precisely enough."""

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
_LEAST_CALL_S = 0.5e-6  # a kernel in a graph takes at least a microsecond
_INTERVAL_U = 2 * 1.96  # width of a 95 % interval in standard uncertainties


@dataclass(frozen=True)
class PlayedWindow:
    """A window of bursts, and the board's readings of it; None: not read yet."""

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
        """Return the window for the regression."""
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
    """Something to call, with the windows of its calls.

    Attributes
    ----------
    name, type : str
        Name and type of its spans: path and type of a layer.
    call : callable
        The call.
    call_s : float
        Seconds of a call; 0 before `make_ready`.
    how, why : str
        "graph" or "calls", and why it cannot be captured in a graph.
    """

    name: str
    type: str
    call: Call
    call_s: float = 0.0
    how: str = GRAPH
    why: str = ""
    played: list[PlayedWindow] = field(default_factory=list)
    duty: Duty = field(default_factory=lambda: Duty(None))

    @property
    def rounds(self) -> int:
        """Number of played rounds."""
        return len({one.series for one in self.played})

    def _counted(self) -> list[PlayedWindow]:
        """Return the windows of rounds at the target clock, else of the rounds nearest to it."""
        known = [one for one in self.played if one.energy_j is not None]
        matching = [one for one in known if self.duty.matches(self.clock_of(one.series))]
        target_mhz = self.duty.target_mhz
        if matching or target_mhz is None or not known:
            return matching or known
        distance = {s: abs((self.clock_of(s) or 0.0) - target_mhz) for s in {one.series for one in known}}
        nearest = sorted(distance, key=lambda s: distance[s])[:LEAST_ROUNDS]
        return [one for one in known if one.series in nearest]

    def clock_of(self, series: int | None = None) -> float | None:
        """Return the mean clock (MHz) during calls of a round, or of all counted rounds; None if not recorded."""
        windows = self._counted() if series is None else [one for one in self.played if one.series == series]
        clocks = [(one.clock_mhz, one.busy_s) for one in windows if one.clock_mhz is not None]
        total_s = sum(busy_s for _, busy_s in clocks)
        return sum(mhz * busy_s for mhz, busy_s in clocks) / total_s if total_s > 0 else None

    def figure(self) -> Figure | None:
        """Return the energy of a call; None if not known yet."""
        counted = self._counted()
        if not counted:
            return None
        call_s = sum(one.busy_s for one in counted) / sum(one.calls for one in counted)
        # The host decides the duration of plain calls, which varies from burst to burst: count them by their mean time.
        # Graphs run the same kernels each time: count calls, as energy depends less on the clock than time does.
        calls = [one.busy_s / call_s if self.how == CALLS else one.calls for one in counted]
        found: Estimate | None = estimate([one.window(n) for one, n in zip(counted, calls, strict=True)])
        if found is None:
            return None
        return Figure(found.energy_j, found.half_j, found.gap_w, call_s, self.clock_of())


@dataclass(frozen=True)
class Quantity:
    """The energy of a call of `whole`, minus that of `less`, which is a part of it."""

    whole: Part
    less: Part | None = None

    @property
    def parts(self) -> list[Part]:
        """The parts to measure."""
        return [self.whole] if self.less is None else [self.whole, self.less]

    def figure(self) -> Figure | None:
        """Return the figure; None if not known yet. Errors of the two parts are independent."""
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
        """Return whether the half-width of the interval is at most this share of the energy."""
        figure = self.figure()
        return figure is not None and figure.half_j <= precision * abs(figure.energy_j)


class Board:
    """The board of a device in a session.

    Parameters
    ----------
    run : Session
        A running session.
    device : torch.device
        A CUDA GPU, or the CPU for a simulated board.

    Attributes
    ----------
    gpu : int or None
        Its index for reports; None if the session has no other board.
    simulated : bool
        Whether the board is simulated.

    Raises
    ------
    RuntimeError
        If the session does not record the board.
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

    def measure(self, one: PlayedWindow) -> PlayedWindow:
        """Return the window with its energy (joules) and the clock during its calls."""
        report = self._run.report(by="board", gpu=self.gpu, from_ns=one.from_ns, to_ns=one.to_ns)
        totals = report.totals
        if totals.total_energy_j is None or totals.total_low_j is None or totals.total_high_j is None:
            raise RuntimeError("the board gave no readings")
        u_j = (totals.total_high_j - totals.total_low_j) / _INTERVAL_U
        energy_j = totals.total_energy_j - (report.quality.sampler_energy_j or 0.0)
        return replace(one, energy_j=energy_j, u_j=u_j, clock_mhz=report.quality.clock_mhz)


def make_ready(player: Player, part: Part) -> None:
    """Warm up a part and time a call. A part that cannot be captured is played as plain calls.

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
    """Play a part once in each setting, in random order."""
    settings = chance.sample(SETTINGS, len(SETTINGS))
    series, factor = part.rounds, part.duty.factor
    for setting in settings:
        calls = setting.calls(part.call_s)
        between()
        make = player.burst if part.how == GRAPH else player.plain
        part.played.append(_play(part, make(part.call, calls), setting.rest_s(part.call_s, factor), window_s, series))


def _play(part: Part, burst: Burst, rest_s: float, window_s: float, series: int) -> PlayedWindow:
    """Play one window of bursts. Each burst is a span, so that the report has the clock during bursts."""
    span = _core.Span(_FORWARD, part.name, _core.intern(part.type))
    bursts, busy_s = 0, 0.0
    begin_ns = time.monotonic_ns()
    while time.monotonic_ns() - begin_ns < window_s * 1e9:
        with span:
            busy_s += burst.play()
        bursts += 1
        time.sleep(rest_s)
    end_ns = time.monotonic_ns()
    return PlayedWindow(begin_ns, end_ns, bursts * burst.calls, bursts, busy_s, series, part.duty.factor)


def measure(
    player: Player,
    board: Board,
    quantities: Sequence[Quantity],
    *,
    window_s: float,
    chance: random.Random,
    seconds: float | None = None,
    precision: float = 0.0,
    on_progress: Callable[[float], None] = lambda share: None,
    between: Callable[[], None] = lambda: None,
) -> None:
    """Play rounds of all parts, in random order, until all quantities are known or the time is up; at least two.

    Parameters
    ----------
    player : Player
        Plays the bursts.
    board : Board
        Measures the energy of windows.
    quantities : list of Quantity
        Quantities whose parts are ready; windows are added to the parts.
    window_s : float
        Length of a window, seconds.
    chance : random.Random
        Decides the order.
    seconds : float, optional
        Time after which no third round begins; without it there are two rounds.
    precision : float
        Target half-width of the 95 % interval, as a share of the energy.
    on_progress : callable
        Called with the progress, 0 to 1.
    between : callable
        Called before each window, for example to keep the board warm. It must leave the board idle.
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
            on_progress(share if seconds is None else min(share, max(0.5 * share, past_s / seconds)))
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
    """Return the distinct parts of several quantities."""
    return list({id(part): part for quantity in quantities for part in quantity.parts}.values())
