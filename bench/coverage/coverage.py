"""How often 95 % intervals hold: generated programs with known energies, on boards with different power sensors.

usage: coverage.py make FOLDER [SEEDS] [FIRST]   write the recordings and their true energies; 30 seeds from 0 on
       coverage.py score FOLDER                  report on each of them, and print a table; fails if one cannot be
                                                 reported, a fitted row of a good report is bad, or too few rows
                                                 of a board hold
Environment: JM, the joulemap command (build/joulemap). generator.py is not to be tuned.
"""

import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

import generator
import numpy as np

JM = os.environ.get("JM", "build/joulemap")
KINDS = ["periodic", "phases", "data", "rare", "short", "drift", "dvfs:2:2:1980,1755,1500,1320:1", "streams"]
BOARDS = ["ring", "box25", "box100", "mean1s", "counter"]
SECONDS = 20.0
BAD_ERROR, BAD_HALF = 0.2, 0.1  # a row that is so far off and says that it is within so much
LEAST_HOLD, LEAST_ROWS = 0.85, 20  # of a board (bench/results/coverage.txt); of fewer rows nothing is required


def sensors(board, random):
    """Options of the generator, the profile that joulemap reads the board with, the name of its power channel.

    The true lag lies within 1.5 standard uncertainties of the profile's.
    """
    within = random.uniform(-1.5, 1.5)
    if board == "ring":
        return {"lag": 3.5e-3 + 0.5e-3 * within, "tau": 13e-3 + 1e-3 * random.uniform(-1.5, 1.5)}, "h200", None
    if board == "counter":
        return {"sensors": ("counter",)}, "h200", None
    period, window, lag, profile, channel = {
        "box25": (0.1, 0.025, 14e-3 + 7e-3 * within, "h200", "power_instant_w"),
        "box100": (0.1, 0.1, abs(5e-3 * within), "rtx3090", "power_instant_w"),
        "mean1s": (0.1, 1.0, 25e-3 + 10e-3 * within, "h200", "power_average_w"),
    }[board]
    return {"sensors": ("instant", "counter"), "instant": (period, window, lag)}, profile, channel


def make_one(job):
    folder, board, kind, seed = job
    generator.EQUAL = True  # kernels that run together share their joules equally, as joulemap has it
    stem = Path(folder) / f"{board}-{kind.split(':')[0]}-{seed}"
    if stem.with_suffix(".json").exists():
        return
    random = np.random.default_rng([seed, sum(map(ord, board + kind))])
    options, profile, channel = sensors(board, random)
    with tempfile.TemporaryDirectory() as work:
        truth, total, _ = generator.make(kind, seed, work, SECONDS, **options)
        readings, kernels = Path(work) / "readings.csv", Path(work) / "kernels.csv"
        if channel:
            readings.write_text(readings.read_text().replace("power_instant_w", channel))
        files = ["--readings", readings, "--kernels", kernels]
        command = [JM, "import", "-f", "-o", stem.with_suffix(".joulemap"), "--board", profile, *files]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    energies = {name: energy for name, (energy, _) in truth.items()}
    stem.with_suffix(".json").write_text(json.dumps({"total_j": total, "energy_j": energies}))


def score_one(path):
    truth = json.loads(path.read_text())
    command = [JM, "report", path.with_suffix(".joulemap"), "--by", "kernel", "--json"]
    run = subprocess.run(command, capture_output=True, text=True)
    board, kind, seed = path.stem.rsplit("-", 2)
    if run.returncode != 0:
        return board, kind, int(seed), None, [], run.stderr
    report = json.loads(run.stdout)
    rows = []
    for row in report["rows"]:
        true = truth["energy_j"].get(row["name"])
        if true and row["energy_low_j"] is not None:
            half = (row["energy_high_j"] - row["energy_low_j"]) / 2
            rows.append((row["provenance"], (row["energy_j"] - true) / true, half / true))
    return board, kind, int(seed), report["quality"]["verdict"], rows, ""


def table(results):
    cells = defaultdict(list)
    fine = len(results) > 0
    for board, kind, seed, verdict, rows, error in results:
        if verdict is None:
            print(f"{board} {kind} {seed}: no report: {error.strip()}")
            fine = False
        cells[board, kind].append((verdict, rows))
    print(f"{'board':8} {'kind':9} {'runs':>4} {'good':>5} | fitted rows of good reports {'':8}| all rows")
    header = f"{'hold':>5} {'error':>6} {'half':>6}"
    print(f"{'':24} {'':>4} | {'rows':>4} {header} {'bad':>4} | {header}")
    for board in BOARDS:
        of_board = []
        for kind in (kind.split(":")[0] for kind in KINDS):
            runs = cells.get((board, kind))
            if runs is None:
                continue
            good = np.mean([verdict == "good" for verdict, _ in runs])
            every = [row for _, rows in runs for row in rows]
            fitted = [row for (verdict, rows) in runs if verdict == "good" for row in rows if row[0] == "fitted"]
            of_board += fitted
            line = f"{board:8} {kind:9} {len(runs):4} {good:5.0%} | {len(fitted):4} {summary(fitted)} {bad(fitted):4}"
            print(f"{line} | {summary(every)}", flush=True)
        line = f"{board:8} {'all':9} {'':4} {'':5} | {len(of_board):4} {summary(of_board)} {bad(of_board):4}"
        failed = bad(of_board) > 0 or (len(of_board) >= LEAST_ROWS and holds(of_board) < LEAST_HOLD)
        print(f"{line} | {'too few hold, or one is bad' if failed else ''}")
        fine = fine and not failed
    return fine


def bad(rows):
    return sum(abs(error) > BAD_ERROR and half < BAD_HALF for _, error, half in rows)


def holds(rows):
    return np.mean([abs(error) <= half for _, error, half in rows])


def summary(rows):
    if not rows:
        return f"{'-':>5} {'-':>6} {'-':>6}"
    errors, halves = np.array([row[1] for row in rows]), np.array([row[2] for row in rows])
    return f"{holds(rows):5.0%} {np.median(np.abs(errors)):6.1%} {np.median(halves):6.1%}"


def main():
    action, folder, seeds, first = [*sys.argv[1:], *["30", "0"][len(sys.argv) - 3 :]][:4]
    with multiprocessing.Pool() as pool:
        if action == "make":
            Path(folder).mkdir(parents=True, exist_ok=True)
            every = range(int(first), int(first) + int(seeds))
            pool.map(make_one, [(folder, b, k, s) for s in every for b in BOARDS for k in KINDS], chunksize=1)
        else:
            scored = pool.map(score_one, sorted(Path(folder).glob("*.json")), chunksize=1)
            sys.exit(not table(scored))


if __name__ == "__main__":
    main()
