"""How much a total depends on how often the power sensor is read: the same readings, sampled less often."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from joulemap import _arguments, _core
from joulemap._texts import seconds_text, share_text

if TYPE_CHECKING:
    import torch

    from joulemap._reporting import Reporting

INTERVALS_S = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0)
"""Sampling intervals of common tools."""


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


@dataclass(frozen=True, repr=False)
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

    def __repr__(self) -> str:
        worst = max(self.rows, key=lambda row: row.error)
        error = f"{share_text(worst.error)} off if read every {seconds_text(worst.interval_s)}"
        return f"<joulemap.types.SamplingSensitivity {self.energy_j:.4g} J, {error}>"


def thin(
    run: Reporting, intervals_s: Sequence[float], gpu: int | str | torch.device, from_ns: int | None, to_ns: int | None
) -> SamplingSensitivity:
    """Thin the readings of a run; `Session.sampling_sensitivity` describes the arguments."""
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
