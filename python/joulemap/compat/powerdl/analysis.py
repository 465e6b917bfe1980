"""Arithmetic on samples and marks, for scripts that do their own; figures of reports are better known than these.

A sum of samples knows nothing between two readings and has no interval: for joules take `Report.summary`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from statistics import mean, median, stdev
from typing import TYPE_CHECKING, NamedTuple

from joulemap.compat.powerdl.samples import Mark, Sample

if TYPE_CHECKING:
    from joulemap.compat.powerdl.report import Report


class Segment(NamedTuple):
    """What lies between two marks: "epoch" between `epoch_start` and `epoch_end`; seconds."""

    name: str
    t_start: float
    t_end: float


def integrate_energy(samples: Iterable[Sample], t_start: float = -math.inf, t_end: float = math.inf) -> float:
    """Return the joules of samples between two times, by trapezoids; NaN where less than two have a power.

    Parameters
    ----------
    samples : iterable of Sample
        By time.
    t_start, t_end : float
        Seconds, as `Sample.t`; power is taken to be straight between two samples.
    """
    known = [(sample.t, sample.p_w) for sample in samples if not math.isnan(sample.p_w)]
    total, met = 0.0, False
    for (t0, p0), (t1, p1) in pairwise(known):
        begin, end = max(t0, t_start), min(t1, t_end)
        if begin >= end:
            continue
        slope = (p1 - p0) / (t1 - t0)
        total += (end - begin) * (p0 + slope * ((begin + end) / 2 - t0))
        met = True
    return total if met else math.nan


def segments(marks: Iterable[Mark], name: str) -> list[Segment]:
    """Return the stretches between marks `{name}_start` and `{name}_end`: "batch", "epoch", "train", "infer", ..."""
    found: list[Segment] = []
    begun: float | None = None
    for mark in marks:
        if mark.name == f"{name}_start":
            begun = mark.t
        elif mark.name == f"{name}_end" and begun is not None:
            found.append(Segment(name, begun, mark.t))
            begun = None
    return found


class Repeats(NamedTuple):
    """Figures of equal runs: how many, their median and mean, standard deviation, and that in percent of the mean."""

    runs: int
    median: float
    mean: float
    stdev: float
    cv_pct: float


def repeatability(figures: Sequence[float]) -> Repeats:
    """Return how far equal runs agree.

    Raises
    ------
    ValueError
        If there are less than two, or one is not known.
    """
    if len(figures) < 2 or any(math.isnan(figure) for figure in figures):
        raise ValueError(f"repeatability needs the figures of two runs or more, all of them known, not {figures!r}")
    centre, spread = mean(figures), stdev(figures)
    return Repeats(len(figures), median(figures), centre, spread, 100 * spread / centre if centre else math.nan)


def repeat(run: Callable[[], Report], runs: int = 5, figure: str = "train_energy_j") -> Repeats:
    """Make runs, one after the other, and return how far a figure of their summaries agrees."""
    return repeatability([math.nan if (value := run().summary[figure]) is None else value for _ in range(runs)])


class IntervalEffect(NamedTuple):
    """Joules of the training by samples of an interval alone, and how far off that is; NaN: too few samples."""

    interval_s: float
    energy_j: float
    off_pct: float


def interval_sensitivity(
    report: Report, intervals: Sequence[float] = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
) -> list[IntervalEffect]:
    """Return what sums of samples would make of the trainings if they were taken less often.

    The report's own joules, which each is compared with, do not depend on `interval_s`.
    """
    samples, trainings = list(report.samples()), segments(report.marks(), "train")
    truth = report.summary["train_energy_j"]
    effects = []
    for interval_s in intervals:
        taken, due = [], -math.inf
        for sample in samples:
            if sample.t >= due - 1e-9:
                taken.append(sample)
                due = sample.t + interval_s
        energy_j = sum(integrate_energy(taken, one.t_start, one.t_end) for one in trainings)
        off = math.nan if not truth or not trainings else 100 * (energy_j / truth - 1)
        effects.append(IntervalEffect(interval_s, energy_j, off))
    return effects
