"""Arithmetic on samples and marks, for scripts that do their own; figures of reports are better known than these.

A sum of samples knows nothing between two readings and has no interval: for joules take `Report.summary`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

from joulemap.compat.powerdl.samples import Mark, Sample


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
