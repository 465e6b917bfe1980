"""What tracing costs programs that the host holds back, on a host whose speed changes from second to second.

Each way to run a program is a process of its own: plain, within a budget between its turns (so small a one that there
is one turn), the same with CUPTI kept, kernels traced, layers too, and torch.profiler with kernels alone. They are
started at once and take turns of a tenth of a second, in an order of chance, one at a time; a figure is the median,
over rounds, of a step's time divided by the plain one of the same round, with its bootstrap interval; beside it the
same of the main thread's CPU time. Of the process with a budget, turns in which a step was traced are told apart.
Whoever is not at his turn waits for a pipe. All main threads run on one core, since cores of such a host differ by
half: a process that had another one was 44 % faster than plain.

    python bench/gpu/turns.py --programs training decode launches --rounds 60 --out bench/results/turns.txt
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

WAYS = {
    "training": ["plain", "budget", "budget, CUPTI kept", "kernels", "kernels and layers"],
    "decode": ["plain", "budget", "budget, CUPTI kept", "kernels", "kernels and layers"],
    "launches": ["plain", "budget", "budget, CUPTI kept", "kernels", "torch.profiler"],
}
WARM_S = 2.0
CORE = 3  # of those that there are
LET_GO_S = 5.0  # past the first turn, and CUPTI let go


def be_one(key: str, way: str, seconds: float) -> None:
    """Be one of the processes: a turn for each line of the standard input, a line for each turn."""
    import budget
    import joulemap
    import torch
    from joulemap._tracing import tracing

    program = budget.PROGRAMS[key]()
    begin: Any = budget.nothing
    with ExitStack() as stack:
        if way == "torch.profiler":
            stack.enter_context(torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]))
        elif way != "plain":
            within = 1e-4 if way.startswith("budget") else None
            run = stack.enter_context(
                joulemap.Session(kernels=True if budget.CUDA else "auto", counters=False, budget=within)
            )
            if program.model is not None and way != "kernels":
                run.watch(program.model)
            begin = run.step
        os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[CORE]})
        budget.warm(program, begin, WARM_S)
        until_s = time.perf_counter() + LET_GO_S
        while way.startswith("budget") and time.perf_counter() < until_s:
            program.step(begin)
        print("ready", flush=True)
        for _ in sys.stdin:
            was_traced = False

            def step_and_look(*, begin: Any = begin, **given: Any) -> Any:
                nonlocal was_traced
                scope = begin(**given)
                was_traced |= tracing.on
                return scope

            wall, cpu = budget.timed(program, step_and_look, seconds)
            print(json.dumps([wall, cpu, was_traced]), flush=True)


def play(key: str, rounds: int, seconds: float) -> dict[str, list[list[Any]]]:
    """Let all ways take turns."""
    children = {}
    for way in WAYS[key]:
        keep = {"JOULEMAP_KEEP_CUPTI": "1"} if "kept" in way else {}
        command = [sys.executable, __file__, "--one", way, "--programs", key, "--seconds", str(seconds)]
        children[way] = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, **keep}
        )
    for child in children.values():
        assert child.stdout is not None
        while (line := child.stdout.readline()) != "ready\n":
            assert line, "a process ended"
    chance = random.Random(3)
    turns: dict[str, list[list[Any]]] = {way: [] for way in children}
    for _ in range(rounds):
        order = list(children)
        chance.shuffle(order)
        for way in order:
            child = children[way]
            assert child.stdin is not None
            assert child.stdout is not None
            child.stdin.write("go\n")
            child.stdin.flush()
            turns[way].append(json.loads(child.stdout.readline()))
    for child in children.values():
        child.communicate()
    return turns


def interval(values: list[float]) -> str:
    chance = random.Random(1)
    medians = sorted(statistics.median(chance.choices(values, k=len(values))) for _ in range(2000))
    middle, low, high = (100 * (v - 1) for v in (statistics.median(values), medians[50], medians[-51]))
    return f"{middle:+6.2f} % ({low:+.2f} to {high:+.2f})"


def tell(key: str, turns: dict[str, list[list[Any]]], out: list[str]) -> None:
    plain = turns["plain"]
    out.append(f"{key}: {len(plain)} rounds; plain step {1e3 * statistics.median(t[0] for t in plain):.3f} ms")
    for way, taken in turns.items():
        for traced in (False, True):
            pairs = [(a, b) for a, b in zip(taken, plain, strict=True) if bool(a[2]) == traced]
            if way == "plain" or len(pairs) < 3:
                continue
            wall, cpu = (interval([a[i] / b[i] for a, b in pairs]) for i in (0, 1))
            told = way + (" (turns with a traced step)" if traced and way.startswith("budget") else "")
            out.append(f"  {told:45s} wall {wall:32s} CPU {cpu:32s} {len(pairs)} turns")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", nargs="+", choices=list(WAYS), default=list(WAYS))
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--seconds", type=float, default=0.1, help="of a turn")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one is not None:
        be_one(args.programs[0], args.one, args.seconds)
        return
    out: list[str] = []
    for key in args.programs:
        tell(key, play(key, args.rounds, args.seconds), out)
        print("\n".join(out[-12:]), flush=True)
        if args.out is not None:
            args.out.write_text("\n".join(out) + "\n")


if __name__ == "__main__":
    main()
