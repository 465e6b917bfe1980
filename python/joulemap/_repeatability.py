"""Repeatability of a measurement: statistics of repeated runs."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from joulemap import _arguments, _core
from joulemap._gpu import synchronize
from joulemap._recording import Recording
from joulemap._report import Report
from joulemap._scope import Scope
from joulemap._session import Session, energy_session
from joulemap._texts import energy_text, html_table, share_text

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, repr=False)
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

    def __repr__(self) -> str:
        mean = energy_text(self.mean_j, self.low_j, self.high_j)
        spread = "" if self.cv is None else f", CV {share_text(self.cv)}"
        return f"<joulemap.types.Repeatability {len(self.joules)} runs: {mean}{spread}>"

    def _repr_html_(self) -> str:
        head, *lines = self.table().splitlines()
        cut = [line.strip().split("  ", 1) for line in lines]
        return html_table(head, (), [[name, *(value.strip() for value in rest)] for name, *rest in cut])


def _joules_of(run: Any, gpu: Any) -> float:
    """Return the joules of one run, which may be given in several forms."""
    if isinstance(run, str | os.PathLike):
        with Recording(run) as recording:
            return _joules_of(recording, gpu)
    if isinstance(run, Session | Recording):
        run = run.report("board", gpu=gpu)
    if isinstance(run, Report):
        run = run.totals.total_energy_j
    elif isinstance(run, Scope):
        run = run.joules
    elif hasattr(run, "energy_j"):  # a Sum, a row
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
