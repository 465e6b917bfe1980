"""How far figures can be trusted that were measured once: the same thing again, and the same readings thinned."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from joulemap import _arguments, _core
from joulemap._recording import Recording
from joulemap._report import Report
from joulemap._session import MeasuringSession, Session, current_session

if TYPE_CHECKING:
    import torch

INTERVALS_S = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0)
"""Sampling intervals of common tools."""


@dataclass(frozen=True)
class Repeatability:
    """What repeated runs say together. The runs of the warm-up are in no figure, outliers are in all.

    Attributes
    ----------
    joules : tuple of float
        Of all runs, in their order.
    warm_up : int
        So many of the first are unlike those after them; the steady state begins behind them.
    outliers : tuple of int
        Numbers of runs, from 0, that are outliers of the steady ones (Rosner's test at 5 %).
    count : int
        Steady runs: those behind the figures that follow.
    median_j, mean_j, least_j, most_j : float
        Joules.
    low_j, high_j : float or None
        95 % interval of the mean, joules, by Student's t; None of one run.
    deviation_j : float or None
        Standard deviation of one run (n - 1), joules; None of one run.
    slope_j, slope_low_j, slope_high_j : float or None
        Joules by which each run differs from the one before (a drift), with its 95 % interval; None of less than
        three.
    """

    joules: tuple[float, ...]
    warm_up: int
    outliers: tuple[int, ...]
    count: int
    mean_j: float
    low_j: float | None
    high_j: float | None
    deviation_j: float | None
    median_j: float
    least_j: float
    most_j: float
    slope_j: float | None
    slope_low_j: float | None
    slope_high_j: float | None

    @property
    def steady_j(self) -> tuple[float, ...]:
        """Joules of the steady runs."""
        return self.joules[self.warm_up :]

    @property
    def cv(self) -> float | None:
        """Coefficient of variation: the standard deviation as a part of the mean (0.01 is 1 %)."""
        return None if self.deviation_j is None or self.mean_j == 0 else self.deviation_j / abs(self.mean_j)

    @property
    def drifts(self) -> bool:
        """Whether the runs surely rise or fall: then they are not alike, and the interval does not hold that."""
        return (
            self.slope_low_j is not None
            and self.slope_high_j is not None
            and (self.slope_low_j > 0 or self.slope_high_j < 0)
        )

    def table(self) -> str:
        """Return all of it as text.

        Returns
        -------
        str
            Lines with units.
        """
        unit = f"{len(self.joules)} run{'s' if len(self.joules) != 1 else ''}"
        if self.warm_up:
            unit += f", the first {self.warm_up} a warm-up, in no figure"
        lines = [unit, f"  median              {self.median_j:.6g} J", f"  mean                {self.mean_j:.6g} J"]
        if self.low_j is not None and self.high_j is not None and self.deviation_j is not None and self.cv is not None:
            lines[-1] += (
                f" ±{(self.high_j - self.low_j) / 2:.2g} J (95 % interval: {self.low_j:.6g} to {self.high_j:.6g})"
            )
            lines.append(f"  standard deviation  {self.deviation_j:.2g} J, CV {100 * self.cv:.2g} %")
        lines.append(f"  least, most         {self.least_j:.6g} J, {self.most_j:.6g} J")
        for number in self.outliers:
            off = 100 * (self.joules[number] / self.median_j - 1)
            lines.append(f"  run {number} is an outlier: {self.joules[number]:.6g} J, {off:+.1f} % off the median")
        if self.drifts and self.slope_j is not None:
            lines.append(
                f"  runs {'rise' if self.slope_j > 0 else 'fall'} by {abs(self.slope_j):.2g} J each: they are not alike"
            )
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.table()


def _joules_of(run: Any, gpu: Any) -> float:
    """Return the energy of one run, given as what people have of it."""
    if isinstance(run, str | os.PathLike):
        with Recording(run) as recording:
            return _joules_of(recording, gpu)
    if isinstance(run, Session | Recording):
        run = run.report("board", gpu=gpu)
    if isinstance(run, Report):
        run = run.totals.total_energy_j
    elif hasattr(run, "energy_j"):  # a Scope, a Sum, a row
        run = run.energy_j
    if run is None:
        raise ValueError("the energy of a run is not known: no sensor told it")
    if isinstance(run, str | bytes | bool):
        raise TypeError(f"a run is its joules, a recording, a session or a report, not {run!r}")
    value = float(run)
    if not math.isfinite(value):
        raise ValueError(f"the energy of a run is a number of joules, not {value}")
    return value


def repeatability(runs: Iterable[Any], *, gpu: int | str | torch.device | None = None) -> Repeatability:
    """Return what several runs of the same thing say together: median, spread, interval, steady state, outliers.

    Parameters
    ----------
    runs : iterable
        Of each run its joules, or a path, Recording, Session, Report, Scope or row of it, in the order of the runs.
    gpu : int, str or torch.device, optional
        Of recordings and sessions one GPU, as in `Session.report`; all boards without it.

    Returns
    -------
    Repeatability
        Joules, with 95 % intervals.

    Raises
    ------
    TypeError, ValueError
        If there is no run, or one whose energy is not known.
    Error
        If a recording cannot be read, or has no such GPU.

    Notes
    -----
    The warm-up are the first runs, as long as each lies outside of the 99 % prediction interval of those after it.
    Outliers are those of the generalized extreme Studentized deviate test at 5 % (B. Rosner, Technometrics 25, 1983).
    The interval of the mean is Student's t.
    """
    joules = tuple(_joules_of(run, gpu) for run in runs)
    if not joules:
        raise ValueError("runs is empty: give the joules of one run at least")
    found = _core.repeats(joules)
    numbers = {name: found.pop(name) for name in ("count", "warm_up")}
    outliers = tuple(found.pop("outliers"))
    return Repeatability(joules, **numbers, outliers=outliers, **{f"{name}_j": value for name, value in found.items()})


@contextmanager
def _session() -> Iterator[Session]:
    """Give the open session, else one of our own that traces nothing."""
    session = current_session()
    if session is not None:
        yield session
        return
    with MeasuringSession(kernels=False, cpu=False, counters=False) as own:
        yield own


def _wait_for_gpus() -> None:
    """Wait for what the program's own PyTorch has queued."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available() and torch.cuda.is_initialized():
        for device in range(torch.cuda.device_count()):
            torch.cuda.synchronize(device)


def repeat(
    function: Callable[[], object], runs: int = 10, *, gpu: int | str | torch.device | None = None
) -> Repeatability:
    """Call a function several times and return what its energies say together.

    GPUs are synchronised around each call. In an open Session each call is a window of it; else a session of its own
    reads the GPUs.

    Parameters
    ----------
    function : callable
        What to measure, without arguments.
    runs : int
        How often; 1 or more.
    gpu : int, str or torch.device, optional
        One GPU, as in `Session.report`; all boards without it.

    Returns
    -------
    Repeatability
        Joules of a call, with 95 % intervals.

    Raises
    ------
    TypeError, ValueError
        If `function` cannot be called, or `runs` is no whole number from 1.
    NoDeviceError
        If there is no board whose energy can be read.
    """
    if not callable(function):
        raise TypeError(f"function is callable, not {function!r} ({type(function).__name__})")
    if _arguments.whole("runs", runs, 10**6) == 0:
        raise ValueError("runs is 0: one at least")
    name = getattr(function, "__name__", type(function).__name__)
    windows = []
    with _session() as session:
        for _ in range(runs):
            _wait_for_gpus()
            with session.window(name) as window:
                function()
                _wait_for_gpus()
            windows.append(window)
        return repeatability([window.energy(gpu=gpu) for window in windows])


@dataclass(frozen=True)
class Thinned:
    """A total as it would have been at another sampling interval.

    Attributes
    ----------
    interval_s : float
        Seconds from one poll to the next.
    energy_j : float
        The total by polls, the mean over 16 moments at which they could begin.
    least_j, most_j : float
        The least and the most of these.
    error : float
        What a single one is off the full total: root mean square, as a part of it (0.01 is 1 %).
    worst : float
        The one that is furthest off, likewise.
    """

    interval_s: float
    energy_j: float
    least_j: float
    most_j: float
    error: float
    worst: float


@dataclass(frozen=True)
class SamplingSensitivity:
    """How much a total depends on how often the power sensor is read.

    Attributes
    ----------
    energy_j : float
        By all readings.
    period_s : float
        Seconds from one reading to the next, in the mean.
    duration_s : float
        Seconds of the interval.
    rows : tuple of Thinned
        One for each sampling interval.
    """

    energy_j: float
    period_s: float
    duration_s: float
    rows: tuple[Thinned, ...]

    def __iter__(self) -> Iterator[Thinned]:
        return iter(self.rows)

    def table(self) -> str:
        """Return a table as text.

        Returns
        -------
        str
            A line for the full total, and one an interval.
        """
        lines = [
            f"{self.energy_j:.6g} J in {self.duration_s:.4g} s by all readings, one each {1e3 * self.period_s:.3g} ms",
            f"{'asked every':>12} {'J':>12} {'least':>12} {'most':>12} {'error':>9} {'worst':>9}",
        ]
        lines += [
            f"{row.interval_s:>10.4g} s {row.energy_j:12.6g} {row.least_j:12.6g} {row.most_j:12.6g} "
            f"{100 * row.error:7.2f} % {100 * row.worst:7.2f} %"
            for row in self.rows
        ]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.table()


def sampling_sensitivity(
    run: Session | Recording | str | os.PathLike[str],
    *,
    intervals_s: Sequence[float] = INTERVALS_S,
    gpu: int | str | torch.device = 0,
    from_ns: int | None = None,
    to_ns: int | None = None,
) -> SamplingSensitivity:
    """Return what a run's total would have been, had its power sensor been read less often.

    It takes the recorded readings alone, so nothing runs again: a poll sees the newest reading, and between polls power
    is a straight line. The full total is the same sum over all readings; a report's differs from it by what the report
    knows of the sensor (lag, energy counter).

    Parameters
    ----------
    run : Session, Recording or path
        What was recorded.
    intervals_s : list of float
        Sampling intervals, seconds.
    gpu : int, str or torch.device
        One GPU, as in `Timeline.readings`.
    from_ns, to_ns : int, optional
        Only this interval of CLOCK_MONOTONIC, nanoseconds; to an end that is not given, all readings.

    Returns
    -------
    SamplingSensitivity
        The total, and a row an interval.

    Raises
    ------
    LookupError
        If there are no readings of the GPU's power.
    TypeError, ValueError
        If an argument is none of the above.
    Error
        If the recording cannot be read.
    """
    if isinstance(run, str | os.PathLike):
        with Recording(run) as recording:
            return sampling_sensitivity(recording, intervals_s=intervals_s, gpu=gpu, from_ns=from_ns, to_ns=to_ns)
    intervals = [_arguments.real("an interval", interval_s, 0, 1e9) for interval_s in intervals_s]
    if not intervals:
        raise ValueError("intervals_s is empty")
    begin_ns, end_ns = _arguments.interval(from_ns, to_ns)
    power = (run.readings(begin_ns, end_ns) if end_ns else run.timeline()).readings("power", gpu)
    begin_ns = power.t_ns[0] if from_ns is None else begin_ns
    end_ns = power.t_ns[-1] if to_ns is None else end_ns
    if end_ns <= begin_ns:
        raise LookupError(f"GPU {gpu} has a single reading of its power: nothing to thin")
    stamps, values = power.t_ns.tobytes(), power.values.tobytes()
    full_j, rows = 0.0, []
    for interval_s in intervals:
        full_j, mean_j, least_j, most_j, error_j = _core.thinned(
            stamps, values, begin_ns, end_ns, max(1, round(1e9 * interval_s))
        )
        worst_j = max(abs(least_j - full_j), abs(most_j - full_j))
        scale_j = abs(full_j) or math.nan
        rows.append(Thinned(interval_s, mean_j, least_j, most_j, error_j / scale_j, worst_j / scale_j))
    period_s = 1e-9 * (power.t_ns[-1] - power.t_ns[0]) / max(1, len(power) - 1)
    return SamplingSensitivity(full_j, period_s, 1e-9 * (end_ns - begin_ns), tuple(rows))
