"""What sampling hardware counters costs a training step beside kernel tracing: on and off, alternating, in one process.

A model trains in one session with kernels and layers. Meanwhile `joulemap record --counters=60 -- sleep` samples the
counters of the same board, again and again, with pauses: steps while counters are sampled are compared with steps in
the pauses before and after, wall time and CPU time of the training's main thread. Counters are the board's, whoever
samples them; this way nothing else changes. The recorder's own CPU time is told as well.

    python bench/gpu/counter_cost.py --pairs 8 --out bench/results/overhead.txt
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import joulemap
import numpy as np
import torch
from publish import head, publish
from subjects import Subject, make

START_S = 16.0  # until a recorder samples: beside a training that takes the host, many times its 3 s at rest


@dataclass(frozen=True)
class Cost:
    """Of a step, median over steps: wall seconds, CPU seconds of the main thread."""

    wall_s: float
    cpu_s: float


def train(subject: Subject, seconds: float) -> Cost:
    walls, cpus = [], []
    end_s = time.perf_counter() + seconds
    while time.perf_counter() < end_s:
        wall_s, cpu_s = time.perf_counter(), time.thread_time()
        subject.step()
        torch.cuda.synchronize()
        walls.append(time.perf_counter() - wall_s)
        cpus.append(time.thread_time() - cpu_s)
    return Cost(statistics.median(walls), statistics.median(cpus))


def with_counters(subject: Subject, seconds: float, folder: str) -> tuple[Cost, str]:
    """Train while a recorder samples counters; what that says of them."""
    file = Path(folder) / "counters.joulemap"
    command = ["joulemap", "record", "--force", "--counters=60", "--no-kernels", "-o", str(file), "--", "sleep"]
    own = {key: value for key, value in os.environ.items() if key != "JOULEMAP_RUN"}
    began_s = time.monotonic()
    with subprocess.Popen([*command, str(START_S + seconds)], env=own, stderr=subprocess.DEVNULL) as recorder:
        train(subject, START_S)
        begin_ns = time.monotonic_ns()
        cost = train(subject, seconds - (time.monotonic() - began_s - START_S))
        end_ns = time.monotonic_ns()
        while recorder.poll() is None:
            subject.step()
        torch.cuda.synchronize()
    recording = joulemap.Recording(str(file))
    quality = recording.report(by="board", from_ns=begin_ns, to_ns=end_ns).quality
    if not quality.sampler_energy_j:
        raise SystemExit(f"counters were not sampled: {quality.counters_missing or 'the recorder began too late'}")
    return cost, recording.meta("counters_1") or ""


def middle(ratios: list[float], seed: int = 0) -> str:
    """Return the median of ratios less one, with the 95 % interval of it (bootstrap)."""
    chance = np.random.default_rng(seed)
    medians = np.median(chance.choice(ratios, (4000, len(ratios))), axis=1)
    low, high = np.percentile(medians, [2.5, 97.5])
    return f"{100 * (np.median(ratios) - 1):+.2f} % ({100 * (low - 1):+.2f} to {100 * (high - 1):+.2f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="gpt", help="gpt, torchvision:NAME or transformers:TYPE")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--size", type=int, default=1024)
    parser.add_argument("--pairs", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=2.5, help="timed seconds of each turn")
    parser.add_argument("--out", type=Path, help="append the figures to this file")
    args = parser.parse_args()
    torch.manual_seed(0)
    subject = make(args.model, args.batch, args.size, {})
    told = ""
    with tempfile.TemporaryDirectory() as folder, joulemap.Session(kernels=True, counters=False) as run:
        run.watch(subject.model)
        train(subject, 2.0)
        without, with_them = [train(subject, args.seconds)], []
        for _ in range(args.pairs):
            cost, told = with_counters(subject, args.seconds, folder)
            with_them.append(cost)
            train(subject, 0.5)
            without.append(train(subject, args.seconds))
            print(f"{1e3 * without[-2].wall_s:.3f} {1e3 * cost.wall_s:.3f} ms", file=sys.stderr, flush=True)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    ratios: dict[str, list[float]] = {"wall_s": [], "cpu_s": []}
    for what, found in ratios.items():
        for one, (before, after) in zip(with_them, pairwise(without), strict=True):
            found.append(2 * getattr(one, what) / (getattr(before, what) + getattr(after, what)))
    lines = [
        *head("counters beside kernels and layers"),
        f"a step without: {1e3 * statistics.median(one.wall_s for one in without):.3f} ms, of them CPU of the main "
        f"thread {1e3 * statistics.median(one.cpu_s for one in without):.3f} ms",
        f"while counters are sampled, {args.pairs} turns of {args.seconds} s: wall {middle(ratios['wall_s'])}, "
        f"CPU of the main thread {middle(ratios['cpu_s'])}",
        f"the last recorder: {told}; CPU of all recorders, start and pauses included: "
        f"{used.ru_utime + used.ru_stime:.1f} s",
    ]
    publish(lines, args.out)


if __name__ == "__main__":
    main()
