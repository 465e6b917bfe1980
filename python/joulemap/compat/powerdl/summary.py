"""A summary from samples and marks only, for scripts that keep those; a `Report` has more."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from joulemap.compat.powerdl.analysis import integrate_energy, segments
from joulemap.compat.powerdl.samples import Mark, Sample


def summarize(samples: Iterable[Sample], marks: Iterable[Mark]) -> dict[str, Any]:
    """Return joules, seconds and watts of training and inference: the integral of samples between their marks.

    Keys are those of `Report.summary`: `train_energy_j`, `train_time_s`, `train_avg_power_w`, `infer_energy_j`, ...
    Values are None without such marks, and NaN with too few samples.
    """
    samples, marks = list(samples), list(marks)
    result: dict[str, Any] = {}
    for name in ("train", "infer"):
        parts = segments(marks, name)
        seconds = sum(part.t_end - part.t_start for part in parts)
        joules = sum(integrate_energy(samples, part.t_start, part.t_end) for part in parts)
        result[f"{name}_energy_j"] = joules if parts else None
        result[f"{name}_time_s"] = seconds if parts else None
        result[f"{name}_avg_power_w"] = joules / seconds if seconds > 0 else None
    return result
