"""Joules of batches, epochs and phases from the session's reports.

Batches add up to epochs, and epochs to trainings:

- A training is measured as a whole, from the readings of its time, like phases in reports by phase.
- A batch lasts from its first kernel (without kernels: its start) to that of the next one. The first batch of an epoch
  begins with the epoch; the first and the last batch of a training begin and end with it. So time between two batches
  belongs to the earlier one, and times add up.
- A batch gets the joules of its own work from the fit, and for the rest of its time the mean power while the training
  waited (for data, say). A common factor scales all batches to the training's measured joules.
- An epoch is the sum of its batches.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from joulemap import _core
from joulemap._report import Report
from joulemap._reporting import Reporting
from joulemap._row_types import Row
from joulemap._tree import Node
from joulemap.compat.powerdl.progress import BATCH, TRAIN, Epoch, Progress
from joulemap.compat.powerdl.samples import Window


class Figures(NamedTuple):
    """Joules with their 95 % interval, seconds, and the provenance; None: no sensor measured them."""

    energy_j: float | None
    low_j: float | None
    high_j: float | None
    time_s: float
    provenance: str

    @property
    def power_w(self) -> float | None:
        """Mean power, W."""
        return None if self.energy_j is None or self.time_s <= 0 else self.energy_j / self.time_s


@dataclass(frozen=True)
class Account:
    """The energy of a profile's parts: `batches` and `epochs` as in `Progress`; None: there was none."""

    train: Figures | None
    infer: Figures | None
    epochs: Sequence[Figures]
    batches: Sequence[Figures]
    report: Report


def _half(row: Row) -> float:
    """Return the half-width of a row's interval."""
    return 0.0 if row.energy_low_j is None or row.energy_high_j is None else (row.energy_high_j - row.energy_low_j) / 2


def _relative(whole: Figures) -> float:
    """Return the relative half-width of a measured interval: an error that all of its parts share."""
    if not whole.energy_j or whole.low_j is None or whole.high_j is None:
        return 0.0
    return (whole.high_j - whole.low_j) / 2 / whole.energy_j


def _measured(source: Reporting, gpu: int, intervals: Sequence[tuple[int, int]]) -> Figures:
    """Return the joules of intervals of time; their errors are assumed to be fully correlated."""
    sums = [source.energy(begin_ns, end_ns, gpu=gpu) for begin_ns, end_ns in intervals]
    time_s = 1e-9 * sum(end_ns - begin_ns for begin_ns, end_ns in intervals)
    if any(one.energy_j is None for one in sums):
        return Figures(None, None, None, time_s, "unresolved")
    energy_j, low_j, high_j = (sum(one[i] or 0.0 for one in sums) for i in range(3))
    return Figures(energy_j, low_j, high_j, time_s, "measured")


def _waiting(node: Node, in_training: bool = False, in_step: bool = False) -> Iterator[Row]:
    """Yield the rows of trainings without work of a batch."""
    for child in node.children:
        row = child.row
        assert row is not None
        if row.kind == "sampling":  # drawn by joulemap, in time of others
            continue
        if in_training and not child.children and (row.kind in ("idle", "gap") or not in_step):
            yield row
        train = (row.kind, row.name) == ("phase", TRAIN)
        yield from _waiting(child, in_training or train, in_step or row.kind == "step")


def _bounds(of: Sequence[Epoch], trainings: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield begin and end of each epoch's batches; together they fill the trainings."""
    remaining = iter(trainings)
    start_ns = end_ns = 0
    for number, epoch in enumerate(of):
        while epoch.start_ns > end_ns:
            start_ns, end_ns = next(remaining)
        is_last = number + 1 == len(of) or of[number + 1].start_ns > end_ns
        until_ns = end_ns if is_last else of[number + 1].start_ns
        yield start_ns, until_ns
        start_ns = until_ns


def _seconds(of: Sequence[Epoch], trainings: Sequence[tuple[int, int]], rows: Sequence[Row]) -> list[float]:
    """Return the duration of each batch, seconds."""
    times: list[float] = []
    for epoch, (start_ns, end_ns) in zip(of, _bounds(of, trainings), strict=True):
        edges = [start_ns]
        for row in rows[epoch.first + 1 : epoch.first + epoch.count]:
            edges.append(min(max(edges[-1], row.start_ns), end_ns))
        if epoch.count > 0:
            times.extend(1e-9 * (after - before) for before, after in pairwise([*edges, end_ns]))
    return times


def _with_interval(energy_j: float, half_j: float, time_s: float, row: Row) -> Figures:
    return Figures(energy_j, max(0.0, energy_j - half_j), energy_j + half_j, time_s, row.provenance)


def _figures_of_batches(rows: Sequence[Row], times: Sequence[float], train: Figures, phases: Node) -> list[Figures]:
    """Return the joules of each batch, scaled to those of the training."""
    if train.energy_j is None or any(row.energy_j is None for row in rows):
        return [Figures(None, None, None, time_s, "unresolved") for time_s in times]
    waiting = list(_waiting(phases))
    waiting_s = sum(row.busy_s for row in waiting)
    wait_w = sum(row.energy_j or 0.0 for row in waiting) / waiting_s if waiting_s > 0 else 0.0
    wait_u_w = sum(map(_half, waiting)) / waiting_s if waiting_s > 0 else 0.0
    waits = [max(0.0, time_s - row.busy_s) for row, time_s in zip(rows, times, strict=True)]
    parts = [(row.energy_j or 0.0) + wait_w * wait_s for row, wait_s in zip(rows, waits, strict=True)]
    sum_j = sum(parts)
    factor = train.energy_j / sum_j if sum_j > 0 else 0.0
    figures = []
    for row, part_j, wait_s, time_s in zip(rows, parts, waits, times, strict=True):
        energy_j = factor * part_j
        half_j = math.hypot(factor * _half(row), factor * wait_u_w * wait_s, _relative(train) * energy_j)
        figures.append(_with_interval(energy_j, half_j, time_s, row))
    return figures


def _figures_of_epochs(
    of: Sequence[Epoch], rows: Sequence[Row], batches: Sequence[Figures], train: Figures
) -> list[Figures]:
    """Return the sums of each epoch's batches; errors that batches share come from the epoch's own row."""
    figures = []
    for epoch, row in zip(of, rows, strict=True):
        own = batches[epoch.first : epoch.first + epoch.count]
        time_s = sum(one.time_s for one in own)
        if any(one.energy_j is None for one in own):
            figures.append(Figures(None, None, None, time_s, "unresolved"))
            continue
        energy_j = sum(one.energy_j or 0.0 for one in own)
        own_half_j = _half(row) * (energy_j / row.energy_j if row.energy_j else 1.0)
        figures.append(_with_interval(energy_j, math.hypot(own_half_j, _relative(train) * energy_j), time_s, row))
    return figures


def take_account(source: Reporting, window: Window, progress: Progress) -> Account:
    """Return the energy of all parts of a window.

    Raises
    ------
    joulemap.Error
        If spans were lost, so that batches cannot be separated.
    """
    report = source.report("span", gpu=window.gpu, process_id=window.pid, from_ns=window.begin_ns, to_ns=window.end_ns)
    inferences = [(one.start_ns, one.end_ns) for one in progress.inferences]
    infer = _measured(source, window.gpu, inferences) if inferences else None
    # An open epoch and its batches are left out.
    epochs = [epoch for epoch in progress.epochs if epoch.end_ns > 0]
    count = epochs[-1].first + epochs[-1].count if epochs else 0
    if count == 0:
        return Account(None, infer, [], [], report)
    trainings = progress.trained()
    train = _measured(source, window.gpu, trainings)
    rows = report.rows
    of_steps = [row for row in rows if row.kind == "step" and row.name == BATCH][:count]
    of_epochs = [row for row in rows if row.kind == "epoch"][: len(epochs)]
    if len(of_steps) != count or len(of_epochs) != len(epochs):
        raise _core.Error(
            f"{count} batches ran, but {len(of_steps)} are in the recording: spans were lost; `quality.lost_records` "
            "of the session's report counts them"
        )
    batches = _figures_of_batches(of_steps, _seconds(epochs, trainings, of_steps), train, report.tree("phase"))
    return Account(train, infer, _figures_of_epochs(epochs, of_epochs, batches, train), batches, report)
