"""Figures by phase: spread of power and utilisation, energy and time."""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING, Any

from joulemap.plots import series
from joulemap.plots.data import PhaseEnergy, PlotData
from joulemap.plots.series import Array
from joulemap.plots.style import HATCHES, CannotDrawError, Look, joules, plain, seconds

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST = 16  # phases; more names do not fit side by side


def _name_ticks(ax: Axes, names: list[str]) -> None:
    """Write names below the axes, slanted if they are long."""
    slanted = sum(len(name) + 2 for name in names) > 72
    ax.set_xticks(range(1, len(names) + 1))
    ax.set_xticklabels(
        [plain(name, 24) for name in names],
        rotation=30 if slanted else 0,
        ha="right" if slanted else "center",
        rotation_mode="anchor" if slanted else "default",
    )
    ax.set_xlim(0.4, len(names) + 0.6)
    ax.grid(False, axis="x")


def _boxes(ax: Axes, looks: Look, groups: dict[str, Array]) -> str:
    shown = dict(list(groups.items())[:_MOST])
    drawn = ax.boxplot(list(shown.values()), widths=0.55, patch_artist=True, whis=(5, 95), showfliers=False)
    for number, box in enumerate(drawn["boxes"]):
        colour = looks.series[number % len(looks.series)]
        box.set(facecolor=colour, alpha=0.45, edgecolor=looks.ink, hatch=HATCHES[number % len(HATCHES)])
    for part in ("whiskers", "caps"):
        for line in drawn[part]:
            line.set_color(looks.ink)
    for line in drawn["medians"]:
        line.set(color=looks.ink, linewidth=2)
    _name_ticks(ax, list(shown))
    more = "" if len(shown) == len(groups) else f"; {len(groups) - len(shown)} more phases are not shown"
    return f"boxes 25 to 75 %, whiskers 5 to 95 %{more}"


def power_boxplot_phase(ax: Axes, looks: Look, data: PlotData) -> str:
    """Draw the spread of power in each phase, including inner phases."""
    about = _boxes(ax, looks, series.by_phase(data, *series.power(data)))
    ax.set_ylabel("power (W)")
    ax.set_ylim(bottom=0)
    return about


def util_boxplot_phase(ax: Axes, looks: Look, data: PlotData) -> str:
    """Draw the spread of the GPU's utilisation in each phase."""
    about = _boxes(ax, looks, series.by_phase(data, *series.gpu_util(data)))
    ax.set_ylabel("GPU utilisation (%)")
    ax.set_ylim(-2, 102)
    return about


def _bars(ax: Axes, looks: Look, names: list[str], heights: list[float], errors: list[list[float]] | None) -> None:
    positions = range(1, len(names) + 1)
    bars = ax.bar(positions, heights, width=0.6, edgecolor=looks.ink, linewidth=0.6)
    for number, bar in enumerate(bars):
        bar.set(facecolor=looks.series[number % len(looks.series)], hatch=HATCHES[number % len(HATCHES)], alpha=0.8)
    if errors is not None:
        ax.errorbar(positions, heights, yerr=errors, fmt="none", ecolor=looks.ink, elinewidth=1.2, capsize=3.5)
    for number, height in enumerate(heights):
        top = height if errors is None else height + errors[1][number]
        where: dict[str, Any] = {"xytext": (0, 3), "textcoords": "offset points", "ha": "center"}
        ax.annotate(f"{height:.4g}", (number + 1, top), fontsize=8, color=looks.ink, **where)
    ax.margins(y=0.12)
    _name_ticks(ax, names)


def _energies(data: PlotData) -> tuple[list[PhaseEnergy], str]:
    """Return the energies of the phases, and their source as a text."""
    reported = [phase for phase in data.phase_energies if phase.energy_j is not None]
    if reported:
        return reported, "with 95 % intervals, from the report"
    t, watts = series.known(*series.power(data))
    found = []
    for name in series.names(data):
        starts, ends = zip(*series.spells(data, name), strict=True)
        energy_j = float(series.between(t, watts, starts, ends).sum())
        if not isnan(energy_j):
            found.append(PhaseEnergy(name, energy_j, None, None))
    if not found:
        raise CannotDrawError("no phase lies within the readings of power")
    return found, "integrals of the readings, without intervals"


def phase_energy_bar(ax: Axes, looks: Look, data: PlotData) -> str:
    """Draw the energy of each phase, including inner phases, with intervals."""
    series.names(data)
    phases, about = _energies(data)
    left_out, phases = phases[_MOST:], phases[:_MOST]
    values = [phase.energy_j or 0.0 for phase in phases]
    factor, unit = joules(max(map(abs, values)))
    errors = None
    if all(phase.energy_low_j is not None and phase.energy_high_j is not None for phase in phases):
        errors = [
            [factor * (value - (phase.energy_low_j or 0.0)) for value, phase in zip(values, phases, strict=True)],
            [factor * ((phase.energy_high_j or 0.0) - value) for value, phase in zip(values, phases, strict=True)],
        ]
    _bars(ax, looks, [phase.name for phase in phases], [factor * value for value in values], errors)
    ax.set_ylabel(f"energy ({unit})")
    return about + (f"; {len(left_out)} more phases are not shown" if left_out else "")


def phase_time_bar(ax: Axes, looks: Look, data: PlotData) -> str:
    """Draw the time of each phase; simultaneous phases of one name count once."""
    names = series.names(data)
    times = [sum(end - start for start, end in series.spells(data, name)) for name in names]
    factor, unit = seconds(max(times))
    _bars(ax, looks, names[:_MOST], [factor * time for time in times[:_MOST]], None)
    ax.set_ylabel(f"time ({unit})")
    return f"{len(names) - _MOST} more phases are not shown" if len(names) > _MOST else ""
