"""One step in many traced against all of them: joules of layers by both, alternating in one process.

Every round runs the same training step for a while with everything traced, and again with a few steps in a row traced
of `--every` times as many, the others told by their edges. Layers of both should have the same joules a step: by how
much they differ, and how often within the two intervals, is the figure. Tracing itself makes a step take longer and
draw more: beside it stand the same layers' shares of their step, what the report says that tracing cost, and how long
steps took.

    python bench/gpu/stood.py --subject torchvision:resnet50 --batch 96 --size 224 --out bench/results/stood.txt
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
from pathlib import Path
from typing import Any

import joulemap
from joulemap import _core
from joulemap._report import Report
from publish import head, publish
from subjects import Subject, make

WARM_STEPS = 2
TURN_S = 0.33
LEAST = 0.01  # of a step's joules, of layers that count
WANTED = 0.02


def level(number: int, turn: int, every: int) -> str:
    """What is recorded of a step: the last `turn` of each cycle are traced, those before them to get ready."""
    place = number % (turn * every)
    left = turn * every - place
    return "on" if left <= turn else "warm" if left <= turn + WARM_STEPS else "steps"


def measure(subject: Subject, seconds: float, every: int) -> dict[str, Any]:
    """Run for so long with one step in `every` traced, and give what the report says."""
    for _ in range(5):
        subject.step()
    turn, number, times = 0, 0, []
    with joulemap.Session(kernels=True) as run:
        watch = run.watch(subject.model)
        if every > 1:
            run._started().trace(_core.TRACING["steps"])
        begin = time.monotonic()
        while time.monotonic() - begin < seconds:
            began = time.monotonic()
            if every > 1 and turn:
                run._started().trace(_core.TRACING[level(number, turn, every)])
            with run.step(samples=1):
                loss = subject.forward()
                loss.backward()
                subject.optimizer.step()
                subject.optimizer.zero_grad(set_to_none=True)
                loss.item()
            times.append(time.monotonic() - began)
            number += 1
            if not turn and number == 10:
                turn = max(4, math.ceil(TURN_S / statistics.median(times)))
        watch.remove()
    return {"step_s": statistics.median(times), **joules(run.report("layer"))}


def joules(report: Report) -> dict[str, Any]:
    """Of a step, by layer with half the width of their intervals, and what the report says of tracing."""
    steps = report.totals.steps or 1
    return {
        "traced_steps": report.totals.traced_steps,
        "steps": steps,
        "total_j": (report.totals.total_energy_j or 0.0) / steps,
        "slow_down": report.totals.tracing_slow_down or 0.0,
        "rows": {
            row.path: (row.energy_j / steps, (row.energy_high_j - row.energy_low_j) / 2 / steps)
            for row in report.rows
            if row.kind == "layer"
            and row.energy_j is not None
            and row.energy_high_j is not None
            and row.energy_low_j is not None
        },
    }


def compare(full: dict[str, Any], duty: dict[str, Any]) -> str:
    """Layers of more than 1 % of the joules: how far apart, and how many within both intervals; the worst ones."""
    pairs = {
        path: (row, duty["rows"][path])
        for path, row in full["rows"].items()
        if row[0] > LEAST * full["total_j"] and path in duty["rows"]
    }
    apart = {path: b[0] / a[0] - 1 for path, (a, b) in pairs.items()}
    of_step = full["total_j"] / duty["total_j"]
    shares = [(1 + value) * of_step - 1 for value in apart.values()]
    within = sum(abs(b[0] - a[0]) <= math.hypot(a[1], b[1]) for a, b in pairs.values())
    shares_within = sum(abs(of_step * b[0] - a[0]) <= math.hypot(a[1], b[1]) for a, b in pairs.values())
    worst = sorted(apart, key=lambda path: -abs(apart[path]))[:3]
    return (
        f"{len(apart)} layers: median {100 * statistics.median(apart.values()):+.2f} %,"
        f" rms {100 * math.sqrt(statistics.fmean(value**2 for value in apart.values())):.2f} %,"
        f" {sum(abs(value) <= WANTED for value in apart.values())} within 2 %, {within} within their intervals;"
        f" of their step: median {100 * statistics.median(shares):+.2f} %,"
        f" rms {100 * math.sqrt(statistics.fmean(value**2 for value in shares)):.2f} %,"
        f" {sum(abs(value) <= WANTED for value in shares)} within 2 %, {shares_within} within their intervals\n"
        f"    a step {full['total_j']:.2f} and {duty['total_j']:.2f} J, {1e3 * full['step_s']:.2f} and"
        f" {1e3 * duty['step_s']:.2f} ms; {duty['traced_steps']} of {duty['steps']} steps traced, said to be"
        f" {100 * duty['slow_down']:.1f} % slower; worst: "
        + ", ".join(
            f"{path} {pairs[path][0][0]:.3f} ±{pairs[path][0][1]:.3f} and {pairs[path][1][0]:.3f}"
            f" ±{pairs[path][1][1]:.3f} J"
            for path in worst
        )
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--subject", default="gpt", help="gpt, torchvision:NAME or transformers:TYPE")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--size", type=int, default=1024)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--every", type=int, default=12, help="one step in so many is traced")
    parser.add_argument("--out", type=Path, help="append the figures to this file")
    args = parser.parse_args()
    subject = make(args.subject, args.batch, args.size, {})
    publish(head("all steps traced, and one in many"), args.out)
    for number in range(args.rounds):
        full, duty = measure(subject, args.seconds, 1), measure(subject, args.seconds, args.every)
        publish([f"{args.subject} round {number}: {compare(full, duty)}"], args.out)


if __name__ == "__main__":
    main()
