"""Repeatability of a measurement: repeated runs, and the same readings sampled less often."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from joulemap import _arguments, _core
from joulemap._gpu import synchronize
from joulemap._recording import Recording
from joulemap._report import Report
from joulemap._session import Session, energy_session

if TYPE_CHECKING:
    import torch

INTERVALS_S = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0)
"""Sampling intervals of common tools."""


@dataclass(frozen=True)
class Repeatability:
    """Statistics of repeated runs. They leave out the warm-up and include outliers.

    Attributes
    ----------
    joules : tuple of float
        Joules of all runs, in their order.
    warm_up : int
        Number of first runs that differ from the later ones; the steady runs follow.
    outliers : tuple of int
        Numbers, from 0, of steady runs that are outliers (Rosner's test at 5 %).
    count : int
        Number of steady runs; the figures that follow are theirs.
    median_j, mean_j, least_j, most_j : float
        Median, mean, minimum and maximum, joules.
    low_j, high_j : float or None
        95 % interval of the mean, joules, by Student's t; None for one run.
    deviation_j : float or None
        Standard deviation of one run (n - 1), joules; None for one run.
    slope_j, slope_low_j, slope_high_j : float or None
        Drift in joules per run, with its 95 % interval; None for fewer than three runs.
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
        """Coefficient of variation: the standard deviation as a share of the mean (0.01 is 1 %)."""
        return None if self.deviation_j is None or self.mean_j == 0 else self.deviation_j / abs(self.mean_j)

    @property
    def drifts(self) -> bool:
        """Whether the runs significantly rise or fall. The interval of the mean does not include a drift."""
        return (
            self.slope_low_j is not None
            and self.slope_high_j is not None
            and (self.slope_low_j > 0 or self.slope_high_j < 0)
        )

    def table(self) -> str:
        """Return the statistics as text.

        Returns
        -------
        str
            Lines with units.
        """
        head = f"{len(self.joules)} run{'s' if len(self.joules) != 1 else ''}"
        if self.warm_up:
            head += f", the first {self.warm_up} a warm-up, in no figure"
        lines = [head, f"  median              {self.median_j:.6g} J", f"  mean                {self.mean_j:.6g} J"]
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
    """Return the joules of one run, which may be given in several forms."""
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
        raise ValueError("the energy of a run is not known: no sensor measured it")
    if isinstance(run, str | bytes | bool):
        raise TypeError(f"a run is its joules, a recording, a session or a report, not {run!r}")
    value = float(run)
    if not math.isfinite(value):
        raise ValueError(f"the energy of a run is a number of joules, not {value}")
    return value


def repeatability(runs: Iterable[Any], *, gpu: int | str | torch.device | None = None) -> Repeatability:
    """Return statistics of several runs of the same program: median, spread, interval, steady state, outliers.

    Parameters
    ----------
    runs : iterable
        The runs in their order: joules, or a path, Recording, Session, Report, Scope or row.
    gpu : int, str or torch.device, optional
        Count only this GPU of recordings and sessions, as in `Session.report`; all boards without it.

    Returns
    -------
    Repeatability
        Joules, with 95 % intervals.

    Raises
    ------
    TypeError, ValueError
        If there are no runs, or the energy of one is not known.
    Error
        If a recording cannot be read, or has no such GPU.

    Notes
    -----
    First runs belong to the warm-up as long as each lies outside of the 99 % prediction interval of the later runs.
    Outliers are found by the generalized extreme Studentized deviate test at 5 % (B. Rosner, Technometrics 25, 1983).
    The interval of the mean is Student's t.
    """
    joules = tuple(_joules_of(run, gpu) for run in runs)
    if not joules:
        raise ValueError("runs is empty: give the joules of one run at least")
    figures = _core.repeats(joules)
    numbers = {name: figures.pop(name) for name in ("count", "warm_up")}
    outliers = tuple(figures.pop("outliers"))
    return Repeatability(joules, **numbers, outliers=outliers, **{f"{key}_j": value for key, value in figures.items()})


def repeat(
    function: Callable[[], object], runs: int = 10, *, gpu: int | str | torch.device | None = None
) -> Repeatability:
    """Call a function several times and return statistics of its energy.

    GPUs are synchronised before and after each call. In an open Session each call is a window; otherwise a temporary
    session reads the GPUs.

    Parameters
    ----------
    function : callable
        The function to measure, without arguments.
    runs : int
        Number of calls, 1 or more.
    gpu : int, str or torch.device, optional
        One GPU, as in `Session.report`; all boards without it.

    Returns
    -------
    Repeatability
        Joules per call, with 95 % intervals.

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
    with energy_session() as session:
        for _ in range(runs):
            synchronize()
            with session.window(name) as window:
                function()
                synchronize()
            windows.append(window)
        return repeatability([window.energy(gpu=gpu) for window in windows])


@dataclass(frozen=True)
class Thinned:
    """The total at another sampling interval.

    Attributes
    ----------
    interval_s : float
        Seconds between polls.
    energy_j : float
        The total from polls, joules: the mean over 16 offsets of the first poll.
    least_j, most_j : float
        The smallest and the largest of the 16 totals, joules.
    error : float
        Root mean square of their errors, as a share of the full total (0.01 is 1 %).
    worst : float
        The largest error, as a share of the full total.
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
        The total from all readings, joules.
    period_s : float
        Mean seconds between readings.
    duration_s : float
        Length of the interval, seconds.
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
            A line for the full total, and one per interval.
        """
        lines = [
            f"{self.energy_j:.6g} J in {self.duration_s:.4g} s by all readings, one each {1e3 * self.period_s:.3g} ms",
            f"{'read every':>12} {'J':>12} {'least':>12} {'most':>12} {'error':>9} {'worst':>9}",
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
    """Return how a run's total depends on how often the power sensor is read.

    This thins the recorded readings; nothing runs again. A poll sees the newest reading, and power between polls is
    interpolated linearly. The full total is the same sum over all readings. It differs from a report's total, which
    also uses properties of the sensor (lag, energy counter).

    Parameters
    ----------
    run : Session, Recording or path
        The recorded run.
    intervals_s : list of float
        Sampling intervals, seconds.
    gpu : int, str or torch.device
        One GPU, as in `Timeline.readings`.
    from_ns, to_ns : int, optional
        Only this interval of CLOCK_MONOTONIC, nanoseconds; without an end all readings on that side.

    Returns
    -------
    SamplingSensitivity
        The total, and a row per sampling interval.

    Raises
    ------
    LookupError
        If there are no readings of the GPU's power.
    TypeError, ValueError
        If an argument is wrong.
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
