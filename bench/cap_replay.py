#!/usr/bin/env python3
"""Replay recorded power-cap sweeps, and write how far the choices are from the best caps.

    bench/cap_replay.py [--joulemap build/joulemap] [--data ../shared/data/power-cap-sweeps] [--probes 5]

Every training job of the data (dataset, network, batch size, optimizer) on each GPU is a sweep: `joulemap cap search
--replay` sees the caps that it asks for, and its choice is compared with the best of all caps. Regret: how much
larger the objective is there. Writes bench/results/cap_replay.txt; exit code 1 if
the choices are worse than was to be reached, or a bound was broken.
"""

from __future__ import annotations

import argparse
import csv
import functools
import json
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
JOB = ("dataset", "network", "batch_size", "optimizer")
COLUMNS = ("power_limit", "time_per_epoch", "average_power")

Row = tuple[float, float, float]  # cap in W, time in s, power in W


@dataclass(frozen=True)
class Goal:
    """What a search is for, and the mean regret to be reached."""

    title: str
    objective: str
    time_power: int
    slowdown: float | None
    most: float | None

    def of(self, row: Row) -> float:
        """Return the objective at a cap."""
        return row[2] * row[1] ** self.time_power


GOALS = (
    Goal("energy", "energy", 1, None, 0.005),
    Goal("energy, at most 5 % slower", "energy", 1, 0.05, 0.012),
    Goal("ED2P", "ed2p", 3, None, 0.011),
    Goal("EDP", "edp", 2, None, None),
)


@dataclass(frozen=True)
class Outcome:
    """One replay."""

    regret: float
    broken: bool
    probes: int
    held: int  # intervals of caps that were not tried
    untried: int


def sweeps_of(path: Path) -> list[list[Row]]:
    """Return the sweeps of one GPU, in the order of the file."""
    jobs: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    with path.open(newline="") as file:
        for line in csv.DictReader(file):
            cap_w, time_s, power_w = (float(line[column]) for column in COLUMNS)
            jobs[tuple(line[key] for key in JOB)].append((cap_w, time_s, power_w))
    return list(jobs.values())


def replay(command: str, sweep: Path, rows: list[Row], goal: Goal, probes: int) -> Outcome:
    """Search, and compare with all caps."""
    call = [command, "cap", "search", "--replay", str(sweep), "--objective", goal.objective, "--json"]
    call += [f"--probes={probes}"]
    if goal.slowdown is not None:
        call += [f"--max-slowdown={goal.slowdown}"]
    found = json.loads(subprocess.run(call, check=True, capture_output=True, text=True).stdout)
    at = {row[0]: row for row in rows}
    slowest = at[max(at)][1] * (1 + goal.slowdown) if goal.slowdown is not None else float("inf")
    chosen = at[found["chosen_cap_w"]]
    untried = [cap for cap in found["predicted"]["caps"] if cap["probes"] == 0]
    held = sum(cap["objective_low"] <= goal.of(at[cap["cap_w"]]) <= cap["objective_high"] for cap in untried)
    best = min(goal.of(row) for row in rows if row[1] <= slowest)
    return Outcome(goal.of(chosen) / best - 1, chosen[1] > slowest, len(found["probes"]), held, len(untried))


def line_of(board: str, goal: Goal, all_of: list[Outcome]) -> str:
    """Return a row of the table."""
    regrets = [100 * outcome.regret for outcome in all_of]
    untried = sum(outcome.untried for outcome in all_of)
    held = 100 * sum(outcome.held for outcome in all_of) / max(untried, 1)
    return (
        f"| {board} | {goal.title} | {statistics.mean(regrets):.2f} % | {statistics.median(regrets):.2f} % "
        f"| {max(regrets):.1f} % | {sum(outcome.broken for outcome in all_of)} "
        f"| {statistics.mean(outcome.probes for outcome in all_of):.1f} | {held:.0f} % |"
    )


def measure(command: str, data: Path, probes: int) -> tuple[list[str], bool]:
    """Return the rows of the table, and whether what was to be reached was."""
    lines = []
    reached = True
    together: dict[Goal, list[Outcome]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor() as pool:
        for board in ("v100", "a40"):
            sweeps = sweeps_of(data / f"{board}.csv")
            paths = [Path(folder) / f"{board}-{i}.csv" for i in range(len(sweeps))]
            for path, rows in zip(paths, sweeps, strict=True):
                with path.open("w", newline="") as file:
                    csv.writer(file).writerows([("cap_w", "time_s", "power_w"), *rows])
            for goal in GOALS:
                search = functools.partial(replay, command, goal=goal, probes=probes)
                outcomes = list(pool.map(search, paths, sweeps))
                together[goal] += outcomes
                lines.append(line_of(f"{board.upper()}, {len(sweeps)} jobs", goal, outcomes))
    for goal, outcomes in together.items():
        lines.append(line_of("both", goal, outcomes))
        mean = statistics.mean(outcome.regret for outcome in outcomes)
        reached &= (goal.most is None or mean <= goal.most) and not any(outcome.broken for outcome in outcomes)
    return lines, reached


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--joulemap", default=str(ROOT / "build/joulemap"))
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared/data/power-cap-sweeps")
    parser.add_argument("--probes", type=int, default=5)
    args = parser.parse_args()
    lines, reached = measure(args.joulemap, args.data, args.probes)
    head = [
        "| GPU | objective | mean regret | median | worst | bound broken | probes | intervals that hold |",
        "|---|---|---|---|---|---|---|---|",
    ]
    table = "\n".join(head + lines)
    print(table)
    command = f"bench/cap_replay.py --probes {args.probes}"
    (ROOT / "bench/results/cap_replay.txt").write_text(f"{command}\n\n{table}\n")
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
