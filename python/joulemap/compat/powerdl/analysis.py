"""Arithmetic on samples and marks, for scripts with their own evaluation.

A sum of samples has no interval and ignores what happens between readings: for joules use `Report.summary`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

from joulemap.compat.powerdl.samples import Mark, Sample


class Segment(NamedTuple):
    """The interval between two marks, seconds: "epoch" from `epoch_start` to `epoch_end`."""

    name: str
    t_start: float
    t_end: float


def integrate_energy(samples: Iterable[Sample], t_start: float = -math.inf, t_end: float = math.inf) -> float:
    """Return the joules of samples between two times by the trapezoidal rule; NaN for fewer than two known powers.

    Parameters
    ----------
    samples : iterable of Sample
        Samples in order of time.
    t_start, t_end : float
        Seconds, as in `Sample.t`; power is interpolated linearly.
    """
    known = [(sample.t, sample.p_w) for sample in samples if not math.isnan(sample.p_w)]
    total, overlaps = 0.0, False
    for (t0, p0), (t1, p1) in pairwise(known):
        begin, end = max(t0, t_start), min(t1, t_end)
        if begin >= end:
            continue
        slope = (p1 - p0) / (t1 - t0)
        total += (end - begin) * (p0 + slope * ((begin + end) / 2 - t0))
        overlaps = True
    return total if overlaps else math.nan


def segments(marks: Iterable[Mark], name: str) -> list[Segment]:
    """Return the intervals between marks `{name}_start` and `{name}_end`: "batch", "epoch", "train", "infer", ..."""
    result: list[Segment] = []
    t_start: float | None = None
    for mark in marks:
        if mark.name == f"{name}_start":
            t_start = mark.t
        elif mark.name == f"{name}_end" and t_start is not None:
            result.append(Segment(name, t_start, mark.t))
            t_start = None
    return result
