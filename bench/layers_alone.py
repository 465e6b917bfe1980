"""Layers of recorded trainings against the same layers alone: how far off, and how often intervals hold.

usage: layers_alone.py [-v] STEM...

STEM.off.joulemap and STEM.on.joulemap (a training without hardware counters and with them) and STEM.json (its layers
alone) are what `bench/gpu/bursts.py --record STEM` keeps. A layer whose kernels take another time alone does other work
there, and does not count. `scaled`: after one common factor, as a training may run at another clock.
-v: each layer. To compare two builds, run it with the package of each (PYTHONPATH=BUILD/site).
"""

import json
import math
import sys
from pathlib import Path

import joulemap
import numpy as np

SAME_WORK = 0.05


def compare(stem, mode, every):
    """Return the report, and of each layer that does the same work: error, holds, half of the interval, relative."""
    alone = json.loads(Path(f"{stem}.json").read_text())
    with joulemap.Recording(f"{stem}.{mode}.joulemap") as recording:
        report = recording.report(by="span", phase="train")
    rows = {path: [] for path in alone}
    for row in report.rows:
        if row.kind == "forward" and row.path in rows:
            rows[row.path].append(row)
    found = []
    for path, of in alone.items():
        calls = len(rows[path])
        if calls == 0:
            continue
        energy_j, low_j, high_j = report.sum(lambda row, path=path: row.kind == "forward" and row.path == path)
        call_s = sum(row.busy_s for row in rows[path]) / calls
        true_j = of["energy_j"] - of["gap_w"] * max(0, of["call_s"] - call_s)  # its gaps are idle time in training
        error, half = energy_j / calls / true_j - 1, max(high_j - energy_j, energy_j - low_j) / calls / true_j
        holds = abs(error) <= math.hypot(half, of["half_j"] / true_j)
        same = abs(call_s / of["call_s"] - 1) <= SAME_WORK
        if every:
            held = ("yes" if holds else "NO") if same else "other work"
            print(
                f"    {path[-60:]:60} {1e6 * call_s:7.0f} us {1e3 * true_j:9.2f} ±{1e3 * of['half_j']:7.2f} mJ"
                f" {100 * error:+6.1f} ±{100 * half:4.1f} % {held}"
            )
        if same:
            found.append((error, holds, half))
    return report, found


def summary(found):
    if not found:
        return "no layer does the same work alone"
    errors = np.array([error for error, _, _ in found])
    scaled = (1 + errors) / (1 + np.median(errors)) - 1
    return (
        f"{len(found):3} layers, median {100 * np.median(abs(errors)):4.1f} %,"
        f" 95th percentile {100 * np.percentile(abs(errors), 95):5.1f} %;"
        f" scaled {100 * np.median(abs(scaled)):4.1f} %, {100 * np.percentile(abs(scaled), 95):5.1f} %;"
        f" hold {np.mean([holds for _, holds, _ in found]):4.0%},"
        f" half {100 * np.median([half for _, _, half in found]):4.1f} %"
    )


def main():
    stems = [argument for argument in sys.argv[1:] if argument != "-v"]
    if not stems:
        sys.exit(__doc__)
    of_mode = {"off": [], "on": []}
    for stem in stems:
        for mode, all_found in of_mode.items():
            report, found = compare(stem, mode, "-v" in sys.argv)
            all_found += found
            print(f"{Path(stem).name:14} {mode:3} {report.quality.verdict:4} {summary(found)}", flush=True)
    for mode, all_found in of_mode.items():
        print(f"{'all':14} {mode:3}      {summary(all_found)}")


if __name__ == "__main__":
    main()
