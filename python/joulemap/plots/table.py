"""The table of figures: key, title, needed data and drawing function. A new figure is a line here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

from joulemap.plots import caps, distribution, layers, over_time, phases, roofline, runs, scatter, steps


class Entry(NamedTuple):
    """A figure.

    `draw` takes axes, a `Look` and the data, then its options by name. It may return a text for the line below the
    title. `needs` is the kind of data: "readings" is a `PlotData`, "runs" a `Diff`, "caps" a search for a power cap;
    others are keys of a report's rows.
    """

    key: str
    title: str
    needs: Literal["readings", "layer", "span", "runs", "caps"]
    draw: Callable[..., str | None]


_ENTRIES = (
    Entry("power_time", "Power over time", "readings", over_time.power_time),
    Entry("gpu_util_time", "GPU utilisation over time", "readings", over_time.gpu_util_time),
    Entry("mem_util_time", "Memory utilisation over time", "readings", over_time.mem_util_time),
    Entry("util_time_dual", "Utilisation of GPU and memory over time", "readings", over_time.util_time_dual),
    Entry("energy_rate", "Energy rate over time", "readings", over_time.energy_rate),
    Entry("power_derivative", "Change of power over time", "readings", over_time.power_derivative),
    Entry("cumulative_energy", "Energy over time", "readings", over_time.cumulative_energy),
    Entry("power_hist", "Distribution of power", "readings", distribution.power_hist),
    Entry("util_hist", "Distribution of utilisation", "readings", distribution.util_hist),
    Entry("power_ecdf", "Distribution function of power", "readings", distribution.power_ecdf),
    Entry("util_ecdf", "Distribution function of utilisation", "readings", distribution.util_ecdf),
    Entry("power_boxplot_phase", "Power by phase", "readings", phases.power_boxplot_phase),
    Entry("util_boxplot_phase", "GPU utilisation by phase", "readings", phases.util_boxplot_phase),
    Entry("phase_energy_bar", "Energy by phase", "readings", phases.phase_energy_bar),
    Entry("phase_time_bar", "Time by phase", "readings", phases.phase_time_bar),
    Entry("power_util_scatter", "Power over GPU utilisation", "readings", scatter.power_util_scatter),
    Entry("power_util_hexbin", "Power over GPU utilisation", "readings", scatter.power_util_hexbin),
    Entry("layer_energy", "Energy by layer", "layer", layers.layer_energy),
    Entry("energy_flame", "Where the joules went", "layer", layers.energy_flame),
    Entry("step_energy", "Energy of each step", "span", steps.step_energy),
    Entry("roofline", "Roofline of joules", "layer", roofline.roofline),
    Entry("two_runs", "Two runs", "runs", runs.two_runs),
    Entry("power_cap", "Which power cap?", "caps", caps.power_cap),
)

FIGURES = {entry.key: entry for entry in _ENTRIES}
