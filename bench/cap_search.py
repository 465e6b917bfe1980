#!/usr/bin/env python3
"""Search for the best cap of work whose best cap is known, and write how often it is found.

    bench/cap_search.py [--bench build/bench/bench_cap_search] [--seeds 100]

Six kinds of work on a GPU of 700 W (tests/unit/cap_jobs.h, physics that shares nothing with the planner), each
searched as `joulemap cap search -- COMMAND` does it: probes or a sweep of eight, then the proof. Writes
bench/results/cap_search.txt; exit code 1 if less was reached than was to be.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TITLES = {"ed2p": "ED2P", "energy": "energy"}


@dataclass(frozen=True)
class Line:
    """One kind of work, searched once a seed."""

    job: str
    objective: str
    slowdown: float
    sweep: int
    seeds: int
    near: int
    inert: int
    proven: int
    held: int
    over: int
    bound_proven: int
    falsely: int
    windows: float
    slowest: float

    def cells(self) -> list[str]:
        """Return the cells of the row."""
        what = TITLES[self.objective] + (f", at most {100 * self.slowdown:g} % slower" if self.slowdown else "")
        how = f"sweep of {self.sweep}" if self.sweep else "probes"
        held = f"{self.held} of {self.proven}" if self.proven else ""
        bound = f"{self.over}, by {100 * (self.slowest - self.slowdown):.1f} %" if self.over else ""
        said = f"{self.bound_proven} of {self.proven}, {self.falsely}" if self.slowdown and self.proven else ""
        counts = [f"{self.near} of {self.seeds}", str(self.inert), held, bound, said, f"{self.windows:.0f}"]
        return [self.job, what, how, *counts]


def read(text: str) -> list[Line]:
    """Return what the bench printed."""
    lines = []
    for row in text.splitlines():
        job, objective, slowdown, *counts, windows, slowest = row.split(",")
        whole = (int(count) for count in counts)
        lines.append(Line(job, objective, float(slowdown), *whole, float(windows), float(slowest)))
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", default=str(ROOT / "build/bench/bench_cap_search"))
    parser.add_argument("--seeds", type=int, default=100)
    args = parser.parse_args()
    lines = read(subprocess.run([args.bench, str(args.seeds)], check=True, capture_output=True, text=True).stdout)
    free = [line for line in lines if line.slowdown == 0]
    held, proven = sum(line.held for line in lines), sum(line.proven for line in lines)
    bound = ["over the bound", "said to be proven, and over it all the same"]
    head = ["work", "objective", "how", "within 3 % of the best", "told as inert", "interval holds", *bound, "windows"]
    cells = [head, *(line.cells() for line in lines)]
    first, *others = ("| " + " | ".join(row) + " |" for row in cells)
    rows = "\n".join([first, "|" + "---|" * len(cells[0]), *others])
    text = f"{rows}\n\nIntervals of the proven saving that hold: {held} of {proven}, {100 * held / proven:.1f} %."
    print(text)
    (ROOT / "bench/results/cap_search.txt").write_text(f"bench/cap_search.py --seeds {args.seeds}\n\n{text}\n")
    reached = all(line.near >= 0.95 * line.seeds for line in free) and 0.9 <= held / proven <= 0.98
    inert = all((line.inert >= 0.95 * line.seeds) == (line.job == "inert") for line in lines)
    said, falsely = sum(line.bound_proven for line in lines if line.slowdown), sum(line.falsely for line in lines)
    return 0 if reached and inert and falsely <= 0.05 * said else 1


if __name__ == "__main__":
    sys.exit(main())
