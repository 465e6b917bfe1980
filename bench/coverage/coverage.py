"""How often 95 % intervals hold: generated programs with known energies, on boards with different power sensors.

usage: coverage.py make FOLDER [SEEDS] [FIRST]   write the recordings and their true energies
       coverage.py score FOLDER [BINARY]         report on each of them, and print a table
Environment: JM, the joulemap command (build/joulemap). generator.py is not to be tuned: it is what the estimator is tested with.
"""

import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

import numpy as np

JM = os.environ.get("JM", "build/joulemap")
KINDS = ["periodic", "phases", "data", "rare", "short", "drift", "dvfs:2:2:1980,1755,1500,1320:1", "streams"]
BOARDS = ["ring", "box25", "box100", "mean1s", "counter"]
SECONDS = 20.0


def sensors(board, random):
    """Sensors of the generated board, the profile that joulemap reads them with, and the name of its power channel.

    The true lag lies within 1.5 standard uncertainties of the profile's, which is 0 to 2 periods of refresh.
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
    os.environ["EQUAL"] = "1"
    import generator

    generator.EQUAL = True
    stem = Path(folder) / f"{board}-{kind.split(':')[0]}-{seed}"
    if stem.with_suffix(".json").exists():
        return
    random = np.random.default_rng([seed, sum(map(ord, board + kind))])
    options, profile, channel = sensors(board, random)
    with tempfile.TemporaryDirectory() as work:
        truth, total, _ = generator.make(kind, seed, work, SECONDS, **options)
        readings = Path(work) / "readings.csv"
        if channel:
            readings.write_text(readings.read_text().replace("power_instant_w", channel))
        subprocess.run(
            [JM, "import", "-f", "-o", stem.with_suffix(".joulemap"), "--board", profile, "--readings", readings]
            + ["--kernels", Path(work) / "kernels.csv"],
            check=True,
            capture_output=True,
        )
    stem.with_suffix(".json").write_text(json.dumps({"total_j": total, "energy_j": {k: v[0] for k, v in truth.items()}}))


def score_one(path):
    truth = json.loads(path.read_text())
    run = subprocess.run([JM, "report", path.with_suffix(".joulemap"), "--by", "kernel", "--json"], capture_output=True, text=True)
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
    for board, kind, seed, verdict, rows, error in results:
        if verdict is None:
            print(f"{board} {kind} {seed}: no report: {error.strip()}")
        cells[board, kind].append((verdict, rows))
    print(f"{'board':8} {'kind':9} {'runs':>4} {'good':>5} | fitted rows of good reports {'':8}| all rows")
    print(f"{'':24} {'':>4} | {'rows':>4} {'hold':>5} {'error':>6} {'half':>6} {'bad':>4} | {'hold':>5} {'error':>6} {'half':>6}")
    for board in BOARDS:
        for kind in KINDS:
            runs = cells.get((board, kind.split(":")[0]))
            if runs is None:
                continue
            good = [verdict == "good" for verdict, _ in runs]
            every = [row for _, rows in runs for row in rows]
            fitted = [row for (verdict, rows) in runs if verdict == "good" for row in rows if row[0] == "fitted"]
            bad = sum(abs(error) > 0.2 and half < 0.1 for _, error, half in fitted)
            line = f"{board:8} {kind.split(':')[0]:9} {len(runs):4} {np.mean(good):5.0%} | "
            line += f"{len(fitted):4} {summary(fitted)} {bad:4} | {summary(every)}"
            print(line, flush=True)


def summary(rows):
    if not rows:
        return f"{'-':>5} {'-':>6} {'-':>6}"
    errors, halves = np.array([row[1] for row in rows]), np.array([row[2] for row in rows])
    return f"{np.mean(np.abs(errors) <= halves):5.0%} {np.median(np.abs(errors)):6.1%} {np.median(halves):6.1%}"


def main():
    action, folder = sys.argv[1], Path(sys.argv[2])
    with multiprocessing.Pool() as pool:
        if action == "make":
            folder.mkdir(parents=True, exist_ok=True)
            seeds, first = int((sys.argv + ["30"])[3]), int((sys.argv + ["30", "0"])[4] if len(sys.argv) > 4 else 0)
            jobs = [(folder, b, k, s) for s in range(first, first + seeds) for b in BOARDS for k in KINDS]
            for _ in pool.imap_unordered(make_one, jobs):
                pass
        else:
            table(pool.map(score_one, sorted(folder.glob("*.json")), chunksize=1))


if __name__ == "__main__":
    main()
