"""Results as a table, as CSV and as a bar chart."""

from __future__ import annotations

import csv
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from joulemap import _arguments
from joulemap._csv import cell
from joulemap.plots import style

_SIZE_IN = (10.0, 4.8)
_DPI = 150


def rounded_shares(values: Sequence[float], decimals: int = 1) -> list[float]:
    """Return the percentages of values, rounded so that they add up to 100 (largest remainder method)."""
    total = sum(values)
    if not values or total == 0:
        return [0.0 for _ in values]
    steps = 10**decimals
    exact = [100 * steps * value / total for value in values]
    rounded = [int(share // 1) for share in exact]
    missing = 100 * steps - sum(rounded)
    for number in sorted(range(len(values)), key=lambda i: rounded[i] - exact[i])[:missing]:
        rounded[number] += 1
    return [share / steps for share in rounded]


def table(results: Sequence[dict[str, Any]]) -> str:
    """Return results as text."""
    width = max([len("layer"), *(len(one["layer_name"]) for one in results)])
    shares = rounded_shares([one["energy_per_loop_mj"] for one in results])
    lines = [f"{'layer':{width}} {'mJ/loop':>12} {'±':>7} {'mJ/sample':>12} {'%':>6} {'ms/loop':>10} {'W':>6}"]
    for one, share in zip(results, shares, strict=True):
        half = (one["energy_high_j"] - one["energy_low_j"]) / 2 / abs(one["energy_total_j"] or float("nan"))
        lines.append(
            f"{one['layer_name']:{width}} {one['energy_per_loop_mj']:12.4f} {100 * half:5.1f} % "
            f"{one['energy_per_sample_mj']:12.4f} {share:6.1f} {one['latency_per_loop_ms']:10.4f} "
            f"{one['avg_power_w']:6.0f}"
        )
    energy = sum(one["energy_per_loop_mj"] for one in results)
    sample = sum(one["energy_per_sample_mj"] for one in results)
    latency = sum(one["latency_per_loop_ms"] for one in results)
    lines.append(
        f"{'all':{width}} {energy:12.4f} {'':7} {sample:12.4f} {sum(shares):6.1f} {latency:10.4f} "
        f"{energy / latency:6.0f}"
    )
    return "\n".join(lines)


def write_csv(path: Path, results: Sequence[dict[str, Any]]) -> None:
    """Write results, a row per layer."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(results[0])
        writer.writerows([cell(value) for value in one.values()] for one in results)


def figure_class() -> Any:
    """Return matplotlib's Figure, without global state; ImportError says what to install."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("pictures need matplotlib: pip install 'joulemap[plot]'") from error
    return Figure


def visualize_layer_energy(results: Sequence[dict[str, Any]], path: str | os.PathLike[str] = "layer_energy") -> None:
    """Print a table, and write `path`.csv and `path`.png: bars of energy and latency per layer.

    Parameters
    ----------
    results : list of dict
        The result of `LayerEnergyProfiler.profile_all_layers`.
    path : path
        Path of the files without ending.

    Raises
    ------
    ValueError
        If there are no results.
    ImportError
        Without matplotlib, after table and CSV were written.
    """
    if not results:
        raise ValueError("there are no results: call profile_all_layers() first")
    base = _arguments.path("path", path)
    print(table(results))
    write_csv(Path(f"{base}.csv"), results)
    style.write(draw(figure_class(), results), f"{base}.png", _DPI)


def draw(figure_of: Any, results: Sequence[dict[str, Any]]) -> Any:
    """Return the figure: energy on the left, latency on the right."""
    looks = style.look(dark=False)
    figure = figure_of(figsize=_SIZE_IN, layout="constrained", facecolor=looks.paper)
    names = [style.plain(one["layer_name"]) for one in results]
    errors = [(one["energy_high_j"] - one["energy_low_j"]) / 2 / one["num_loops"] * 1e3 for one in results]
    energy, latency = figure.subplots(1, 2, sharey=True)
    for ax in (energy, latency):
        style.dress(ax, looks)
    joules = [one["energy_per_loop_mj"] for one in results]
    energy.barh(names, joules, xerr=errors, color=looks.series[0], ecolor=looks.ink)
    latency.barh(names, [one["latency_per_loop_ms"] for one in results], color=looks.series[1])
    energy.set_xlabel("energy of a loop, mJ (line: 95 % interval)")
    latency.set_xlabel("time of a loop, ms")
    energy.invert_yaxis()
    return figure
