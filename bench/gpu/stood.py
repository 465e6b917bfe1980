"""One step in many traced against all of them: joules of layers by both, alternating in one process.

Every round runs the same training step for a while with everything traced, and again with a few steps in a row traced
of `--every` times as many, the others told by their edges. Layers of both should have the same joules a step: by how
much they differ, and how often within the two intervals, is the figure; beside it what the report says that tracing
cost, and how long steps took.

    python bench/gpu/stood.py --rounds 5 --seconds 30 --out bench/results/stood.json
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joulemap
import torch
from joulemap import _core

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))

WARM_STEPS = 2
SHAPES = {"gpt": (16, 1024), "host": (1, 64)}  # batch and length: bound by the GPU, and by its host


def training(shape: tuple[int, int]) -> tuple[torch.nn.Module, Callable[[], None]]:
    """The model of examples/gpt_train.py and its step."""
    from gpt_train import GPT, GPT2_SMALL

    batch, length = shape
    model = GPT(GPT2_SMALL, length).to("cuda")
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, fused=True)
    tokens = torch.randint(GPT2_SMALL.vocabulary, (batch, length + 1), device="cuda")

    def step() -> None:
        with torch.autocast("cuda", dtype=torch.bfloat16):
            logits = model(tokens[:, :-1])
            loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1).float(), tokens[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        loss.item()

    return model, step


def level(number: int, turn: int, every: int) -> str:
    """What is recorded of a step: the last `turn` of each cycle are traced, those before them to get ready."""
    place = number % (turn * every)
    left = turn * every - place
    return "on" if left <= turn else "warm" if left <= turn + WARM_STEPS else "steps"


def measure(model: torch.nn.Module, step: Callable[[], None], seconds: float, every: int) -> dict[str, Any]:
    """Run for so long with one step in `every` traced, and give what the report says."""
    for _ in range(5):
        step()
    turn, number, times = 0, 0, []
    with joulemap.Session(kernels=True) as run:
        watch = run.watch(model)
        if every > 1:
            run._started().trace(_core.TRACING["steps"])
        begin = time.monotonic()
        while time.monotonic() - begin < seconds:
            began = time.monotonic()
            if every > 1 and turn:
                run._started().trace(_core.TRACING[level(number, turn, every)])
            with run.step(samples=1):
                step()
            times.append(time.monotonic() - began)
            number += 1
            if not turn and number == 10:  # so many as take a third of a second
                turn = max(4, math.ceil(0.33 / statistics.median(times)))
        watch.remove()
    report = run.report("layer")
    steps = report.totals.steps or 1
    return {
        "step_s": statistics.median(times),
        "traced_steps": report.totals.traced_steps,
        "steps": steps,
        "total_j": (report.totals.total_energy_j or 0.0) / steps,
        "slow_down": report.totals.tracing_slow_down,
        "tracing_s": report.totals.tracing_s,
        "verdict": report.quality.verdict,
        "rows": {
            f"{row.path} {row.kind}": [row.energy_j / steps, (row.energy_high_j - row.energy_low_j) / 2 / steps]
            for row in report.rows
            if row.energy_j is not None and row.energy_high_j is not None and row.energy_low_j is not None
        },
    }


def compare(full: dict[str, Any], duty: dict[str, Any]) -> dict[str, float]:
    """Layers of more than 1 % of the joules: how far apart, and how many within both intervals."""
    least_j = 0.01 * full["total_j"]
    layers = [key for key, (energy_j, _) in full["rows"].items() if energy_j > least_j and key.endswith(" layer")]
    apart = [duty["rows"][key][0] / full["rows"][key][0] - 1 for key in layers if key in duty["rows"]]
    within = [
        abs(duty["rows"][key][0] - full["rows"][key][0]) <= math.hypot(duty["rows"][key][1], full["rows"][key][1])
        for key in layers
        if key in duty["rows"]
    ]
    return {
        "layers": len(apart),
        "median": statistics.median(apart),
        "rms": math.sqrt(statistics.fmean(value * value for value in apart)),
        "within": sum(within) / len(within),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--every", type=int, default=12, help="one step in so many is traced")
    parser.add_argument("--workload", choices=list(SHAPES), action="append")
    parser.add_argument("--out", type=Path, default=Path(__file__).resolve().parents[1] / "results" / "stood.json")
    args = parser.parse_args()
    results: dict[str, list[dict[str, Any]]] = {}
    for workload in args.workload or SHAPES:
        model, step = training(SHAPES[workload])
        results[workload] = []
        for number in range(args.rounds):
            full, duty = measure(model, step, args.seconds, 1), measure(model, step, args.seconds, args.every)
            both = compare(full, duty)
            results[workload].append({"full": full, "duty": duty, "apart": both})
            print(
                f"{workload} round {number}: {both['layers']} layers, median {100 * both['median']:+.2f} %, rms"
                f" {100 * both['rms']:.2f} %, {100 * both['within']:.0f} % within both intervals; step"
                f" {1e3 * full['step_s']:.2f} ms traced, {1e3 * duty['step_s']:.2f} ms with one in {args.every};"
                f" {duty['traced_steps']} of {duty['steps']} steps traced, said to be {duty['slow_down']} slower",
                flush=True,
            )
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
