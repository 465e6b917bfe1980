"""What sampling hardware counters costs a training step beside kernel tracing: on and off, alternating in one process.

Sessions with kernels alone and sessions with kernels and counters (all of the time) take turns; each trains, and its
steps are timed once counters have begun. The figure is the ratio of a session with counters to the mean of the sessions
before and after it without: its median and the interval of the median; of wall time, and of the main thread's CPU time.
The other process's CPU time is told as well.

    python bench/gpu/counter_cost.py --pairs 10 --out bench/results/overhead.txt
"""

from __future__ import annotations

import argparse
import datetime
import os
import shlex
import statistics
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import joulemap
import numpy as np
import torch
from subjects import Subject, make

ALWAYS = 60.0


@dataclass(frozen=True)
class Cost:
    """Of a step, median over steps: wall seconds, CPU seconds of the main thread."""

    wall_s: float
    cpu_s: float


def children_cpu_s() -> float:
    times = os.times()
    return times.children_user + times.children_system


def session(subject: Subject, counters: bool, warm_s: float, seconds: float) -> Cost:
    with joulemap.Session(kernels=True, counters=ALWAYS if counters else False) as run:
        run.watch(subject.model)
        walls, cpus = [], []
        begin_s = time.monotonic()
        while True:
            wall_s, cpu_s = time.perf_counter(), time.thread_time()
            subject.step()
            torch.cuda.synchronize()
            now_s = time.monotonic()
            if now_s - begin_s > warm_s:
                walls.append(time.perf_counter() - wall_s)
                cpus.append(time.thread_time() - cpu_s)
            if now_s - begin_s > warm_s + seconds:
                break
        quality = run.report(by="board").quality
        if counters and not quality.counter_windows:
            raise SystemExit(f"no counters: {quality.counters_missing}")
    return Cost(statistics.median(walls), statistics.median(cpus))


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
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--warm", type=float, default=2.0, help="seconds until counters have begun")
    parser.add_argument("--seconds", type=float, default=2.0, help="timed seconds of a session")
    parser.add_argument("--out", type=Path, help="append the figures to this file")
    args = parser.parse_args()
    torch.manual_seed(0)
    subject = make(args.model, args.batch, args.size, {})
    for _ in range(5):
        subject.step()
    without = [session(subject, False, args.warm, args.seconds)]
    with_them = []
    helper_s = 0.0
    for _ in range(args.pairs):
        before_s = children_cpu_s()
        with_them.append(session(subject, True, args.warm, args.seconds))
        helper_s += children_cpu_s() - before_s
        without.append(session(subject, False, args.warm, args.seconds))
    ratios: dict[str, list[float]] = {"wall_s": [], "cpu_s": []}
    for what, found in ratios.items():
        for one, before, after in zip(with_them, without, without[1:], strict=True):
            found.append(2 * getattr(one, what) / (getattr(before, what) + getattr(after, what)))
    text = "\n".join(
        [
            f"counters beside kernels and layers: {datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d %H:%M} UTC, "
            f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, {os.cpu_count()} CPUs",
            "$ python " + shlex.join(["bench/gpu/counter_cost.py", *sys.argv[1:]]),
            f"a step without: {1e3 * statistics.median(one.wall_s for one in without):.2f} ms, of them CPU of the main "
            f"thread {1e3 * statistics.median(one.cpu_s for one in without):.2f} ms",
            f"counters all of the time, {args.pairs} sessions between sessions without: "
            f"wall {middle(ratios['wall_s'])}, CPU of the main thread {middle(ratios['cpu_s'])}",
            f"CPU of joulemap's other processes: {helper_s / args.pairs:.2f} s a session of "
            f"{args.warm + args.seconds:.0f} s",
        ]
    )
    print(text, flush=True)
    if args.out:
        args.out.parent.mkdir(parents=True, exist_ok=True)
        with args.out.open("a") as file:
            file.write(text + "\n\n")


if __name__ == "__main__":
    main()
