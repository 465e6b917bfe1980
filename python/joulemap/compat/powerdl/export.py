"""The files of a report: summary.json, samples.csv, marks.csv, batches.csv, epochs.csv."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from joulemap._csv import cell
from joulemap._timeline import Timeline
from joulemap.compat.powerdl.samples import Mark, Sample, Window, iterate_marks, iterate_samples

MARK_COLUMNS = ("name", "t", "meta")

BATCH_COLUMNS = (
    "batch",
    "batch_size",
    "time_s",
    "energy_j",
    "avg_power_w",
    "j_per_sample",
    "throughput_img_s",
    "loss",
)
"""The old columns; joulemap's own follow them."""

EPOCH_COLUMNS = ("epoch", "time_s", "energy_j", "avg_power_w")

OWN_COLUMNS = ("energy_low_j", "energy_high_j", "provenance")


def write_rows(path: Path, columns: Sequence[str], rows: Iterable[Iterable[Any]]) -> None:
    """Write rows with a header; unknown values are empty fields."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows([cell(value) for value in row] for row in rows)


def write_samples(path: Path, timeline: Timeline, window: Window, interval_s: float, collect_util: bool) -> None:
    """Write samples one by one, without keeping them in memory."""
    write_rows(path, Sample._fields, iterate_samples(timeline, window, interval_s, collect_util))


def marks_with_losses(marks: Iterable[Mark], losses: Sequence[float]) -> Iterator[Mark]:
    """Yield marks; ends of batches get their losses, which were not known at the time of the mark."""
    batch = 0
    for mark in marks:
        if mark.name == "batch_end":
            loss = losses[batch] if batch < len(losses) else math.nan
            mark.meta["loss"] = None if math.isnan(loss) else loss
            batch += 1
        yield mark


def write_marks(path: Path, timeline: Timeline, window: Window, losses: Sequence[float]) -> None:
    """Write marks, with their values as JSON."""
    marks = marks_with_losses(iterate_marks(timeline, window), losses)
    write_rows(path, MARK_COLUMNS, ((mark.name, mark.t, json.dumps(mark.meta)) for mark in marks))


def write_table(path: Path, columns: Sequence[str], rows: Sequence[Mapping[str, Any]], more: Sequence[str]) -> None:
    """Write dicts: the old columns, then joulemap's own."""
    write_rows(path, (*columns, *more), ([row[column] for column in (*columns, *more)] for row in rows))


def write_json(path: Path, value: Any) -> None:
    """Write JSON; unknown values are null."""
    path.write_text(json.dumps(value, indent=2, allow_nan=False) + "\n", encoding="utf-8")
