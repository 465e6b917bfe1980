"""The summary of a run for loggers: totals, a table, pictures."""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from joulemap._recording import Recording
from joulemap._session import Session

if TYPE_CHECKING:
    import torch

    from joulemap._report import Report
    from joulemap._row_types import Totals

COLUMNS = (
    "path",
    "type",
    "members",
    "calls",
    "energy_j",
    "energy_low_j",
    "energy_high_j",
    "share",
    "power_w",
    "busy_s",
    "provenance",
)
"""Columns of the table: fields of `joulemap.types.Group`."""

_TOTALS = (
    "total_energy_j",
    "total_low_j",
    "total_high_j",
    "idle_energy_j",
    "duration_s",
    "steps",
    "samples",
    "tokens",
    "steady_step_j",
    "steady_step_low_j",
    "steady_step_high_j",
)
_DPI = 120
PICTURES = ("power_time", "layer_energy")


def check_pictures(keys: Iterable[str]) -> tuple[str, ...]:
    """Return the keys of figures as a tuple.

    Raises
    ------
    ValueError
        If there is no such figure; the message lists the known ones.
    """
    checked = tuple(keys)
    if checked not in ((), PICTURES) and importlib.util.find_spec("matplotlib") is not None:
        from joulemap import plots

        for key in checked:
            if key not in plots.figures():
                raise ValueError(f"figures: {key!r} is not known: use some of {', '.join(plots.figures())}")
    return checked


class Final:
    """The summary of a run up to now.

    Parameters
    ----------
    source : Session or Recording
        The run.
    gpu : int, str or torch.device, optional
        One GPU; without it all boards.
    pictures : tuple of str
        Keys of figures (`joulemap.plots.figures()`); those that cannot be drawn are left out.
    """

    def __init__(
        self, source: Session | Recording, gpu: int | str | torch.device | None, pictures: tuple[str, ...]
    ) -> None:
        self.report: Report = source.report("layer", gpu=gpu)
        self._source = source
        self._gpu = gpu if gpu is None or isinstance(gpu, int) else str(gpu)
        self._pictures = pictures

    def numbers(self) -> dict[str, float]:
        """Return totals with the ends of their 95 % intervals, and joules per step, sample and token."""
        totals: Totals = self.report.totals
        values = {name: getattr(totals, name) for name in _TOTALS}
        # Both belong to no step.
        own_j = (self.report.quality.sampler_energy_j or 0.0) + (totals.unrecorded_energy_j or 0.0)
        for unit in ("step", "sample", "token"):
            count = values[f"{unit}s"]
            if count and totals.total_energy_j is not None:
                values[f"j_per_{unit}"] = (totals.total_energy_j - own_j) / count
        if totals.total_energy_j is not None and totals.duration_s:
            values["mean_power_w"] = totals.total_energy_j / totals.duration_s
        return {f"joulemap/{name}": float(value) for name, value in values.items() if value is not None}

    def texts(self) -> dict[str, str]:
        """Return the verdict and the sources of the figures."""
        quality, totals = self.report.quality, self.report.totals
        texts = {
            "verdict": quality.verdict,
            "verdict_reason": quality.verdict_reason,
            "total_source": totals.total_source,
            "sensors": "; ".join(quality.sensors),
            "steps_found": totals.steps_found,
            "simulated": "yes" if totals.simulated else None,
        }
        return {f"joulemap/{name}": text for name, text in texts.items() if text}

    def table(self) -> str:
        """Return the table of layers and all notes, as `joulemap report --notes` prints them."""
        return self.report.table(notes=True)

    def rows(self) -> list[list[Any]]:
        """Return the rows of the table as lists in the order of `COLUMNS`; None: not known."""
        return [[getattr(group, name) for name in COLUMNS] for group in self.report.groups()]

    def pictures(self) -> Iterator[tuple[str, Any]]:
        """Yield keys and Matplotlib figures; none without Matplotlib."""
        if importlib.util.find_spec("matplotlib") is None:
            return
        from joulemap import plots

        for key in self._pictures:
            with contextlib.suppress(plots.CannotDrawError):  # no data for this figure
                yield key, plots.plot(self._source, key, gpu=self._gpu)


def pixels(figure: Any) -> Any:
    """Return a figure as an array (height, width, 3) of uint8."""
    import numpy as np

    figure.set_dpi(_DPI)
    figure.canvas.draw()
    return np.asarray(figure.canvas.buffer_rgba())[:, :, :3].copy()
