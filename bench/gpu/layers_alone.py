"""Layers of recorded trainings against the same layers alone: how far off, and how often intervals hold.

usage: layers_alone.py [-v] STEM...

STEM.off.joulemap and STEM.on.joulemap (a training without hardware counters and with them) and STEM.json (its layers
alone) are what `bench/gpu/bursts.py --record STEM` keeps. A layer whose kernels take another time alone does other work
there, and does not count. `scaled`: after one common factor, as a training may run at another clock.
-v: each layer. To compare two builds, run it with the package of each (PYTHONPATH=BUILD/site).
"""

from __future__ import annotations

import json
import math
import sys
from dataclasses import dataclass
from pathlib import Path

import joulemap
import numpy as np

SAME_WORK = 0.05  # difference of busy time, alone and in training, up to which both are taken for the same work


@dataclass
class Figure:
    """Energy of a call with the half of its 95 % interval, J, its time, s, and the clock, MHz."""

    energy_j: float
    half_j: float
    call_s: float
    clock_mhz: float | None


@dataclass
class Layer:
    """A layer alone and in training."""

    path: str
    alone: Figure
    gap_w: float  # between bursts
    training: Figure

    @property
    def truth_j(self) -> float:
        """Energy of the kernels of a call alone: the gaps between them in its graph are idle time in training."""
        return self.alone.energy_j - self.gap_w * max(0, self.alone.call_s - self.training.call_s)

    @property
    def off(self) -> float:
        return self.off_by(self.training.energy_j)

    def off_by(self, energy_j: float) -> float:
        return energy_j / self.truth_j - 1

    @property
    def same_work(self) -> bool:
        return abs(self.training.call_s / self.alone.call_s - 1) <= SAME_WORK

    @property
    def held(self) -> bool:
        """The truth has an error of its own."""
        apart_j = abs(self.training.energy_j - self.truth_j)
        return apart_j <= math.hypot(self.training.half_j, self.alone.half_j)


def live(path: str, report: joulemap.types.Report, mhz: float | None) -> tuple[Figure, str]:
    """Energy of a forward call in training, and how most of its calls are known."""

    def is_own(row: joulemap.types.Row) -> bool:
        return row.kind == "forward" and row.path == path

    own = [row for row in report.rows if is_own(row)]
    energy_j, low_j, high_j = report.sum(is_own)
    if energy_j is None or low_j is None or high_j is None:
        raise SystemExit(f"{path}: its energy is not known")
    half_j = max(high_j - energy_j, energy_j - low_j)
    words = [row.provenance for row in own]
    call_s = sum(row.busy_s for row in own) / len(own)
    return Figure(energy_j / len(own), half_j / len(own), call_s, mhz), max(set(words), key=words.count)


def compare(stem: Path, mode: str, every: bool) -> tuple[str, list[Layer]]:
    """Return the verdict, and the layers that do the same work alone."""
    alone = json.loads(Path(f"{stem}.json").read_text())
    with joulemap.Recording(f"{stem}.{mode}.joulemap") as recording:
        report = recording.report(by="span", phase="train")
    layers = []
    for path, of in alone.items():
        gap_w = of.pop("gap_w")
        layers.append(Layer(path, Figure(**of), gap_w, live(path, report, report.quality.clock_mhz)[0]))
    for layer in layers if every else []:
        held = ("yes" if layer.held else "NO") if layer.same_work else "other work"
        print(
            f"    {layer.path[-60:]:60} {1e6 * layer.training.call_s:7.0f} us {1e3 * layer.truth_j:9.2f}"
            f" ±{1e3 * layer.alone.half_j:7.2f} mJ {100 * layer.off:+6.1f}"
            f" ±{100 * layer.training.half_j / layer.truth_j:4.1f} % {held}"
        )
    return report.quality.verdict, [layer for layer in layers if layer.same_work]


def summary(layers: list[Layer]) -> str:
    if not layers:
        return "no layer does the same work alone"
    off = np.array([layer.off for layer in layers])
    scaled = (1 + off) / (1 + np.median(off)) - 1
    middle, most = 100 * np.percentile(abs(off), [50, 95])
    scaled_middle, scaled_most = 100 * np.percentile(abs(scaled), [50, 95])
    half = 100 * np.median([layer.training.half_j / layer.truth_j for layer in layers])
    return (
        f"{len(layers):3} layers, median {middle:4.1f} %, 95th percentile {most:5.1f} %;"
        f" scaled {scaled_middle:4.1f} %, {scaled_most:5.1f} %;"
        f" hold {np.mean([layer.held for layer in layers]):4.0%}, half {half:4.1f} %"
    )


def main() -> None:
    stems = [argument for argument in sys.argv[1:] if argument != "-v"]
    if not stems:
        sys.exit(__doc__)
    of_mode: dict[str, list[Layer]] = {"off": [], "on": []}
    for stem in stems:
        for mode, all_found in of_mode.items():
            verdict, found = compare(Path(stem), mode, "-v" in sys.argv)
            all_found += found
            print(f"{Path(stem).name:14} {mode:3} {verdict:4} {summary(found)}", flush=True)
    for mode, all_found in of_mode.items():
        print(f"{'all':14} {mode:3}      {summary(all_found)}")


if __name__ == "__main__":
    main()
