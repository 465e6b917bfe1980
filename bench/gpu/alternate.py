"""What tracing costs programs that the host holds back: ways that take turns of tenths of a second in one process.

Such a host is half as fast from one second to the next, and cores and processes differ: so all stretches run in one
process, on the same core, in an order of chance, and a figure is the median, over rounds, of a step's time divided by
the plain one of the same round, with its bootstrap interval (95 %); beside it the same of the main thread's CPU time.

`full`: plain; kernels traced; layers too; for comparison CUPTI's kernel records and nothing else (`records.cpp`), with
callbacks or records of launches, and torch.profiler with kernels alone. Each stretch has a session of its own, and
CUPTI is let go (cuptiFinalize) after each.

Without a GPU it runs on the simulated board, which tries the script: its figures are none.

`budget`: one session within a budget, steps in it against steps that nobody tells it of. Between its turns that is
what an untraced step costs. Over all, turns included: mean time of all its steps against the plain ones beside them.

    python bench/gpu/alternate.py full --programs training decode launches --rounds 20
    python bench/gpu/alternate.py budget --seconds 40 --budget 0.01
"""

from __future__ import annotations

import argparse
import ctypes
import os
import random
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import host_bound
import joulemap
import torch
from joulemap._tracing import tracing

ALL = os.sched_getaffinity(0)
CORE = sorted(ALL)[min(5, len(ALL) - 1)]
LET_GO_S = 0.4  # after a turn: what it leaves behind is its own, and not to be in the plain stretch that comes next
RUN: dict[str, Any] = {"kernels": True, "counters": False} if host_bound.CUDA else {"sim": "h200"}
CUPTI_ALONE = {  # bits of records.cpp
    "CUPTI alone: kernels": 1,
    "the same, callbacks of launches": 5,
    "the same, records of launches": 3,
}
Stretch = Callable[[], tuple[float, float]]


@contextmanager
def pinned() -> Iterator[None]:
    """Keep the main thread on one core; not what a session starts meanwhile."""
    os.sched_setaffinity(0, {CORE})
    try:
        yield
    finally:
        os.sched_setaffinity(0, ALL)


def timed(program: host_bound.Program, begin: Callable[..., Any], seconds: float) -> tuple[float, float]:
    with pinned():
        host_bound.warm(program, begin, 0.05)
        return host_bound.timed(program, begin, seconds)


class Ways:
    """The ways to play a program, each for one stretch."""

    def __init__(self, program: host_bound.Program, records: str | None, seconds: float) -> None:
        self.program, self.seconds = program, seconds
        self.records = None if records is None else ctypes.CDLL(str(Path(records).resolve()))

    def all(self) -> dict[str, Stretch]:
        ways: dict[str, Stretch] = {"plain": lambda: timed(self.program, host_bound.nothing, self.seconds)}
        if self.records is not None:
            for way, what in CUPTI_ALONE.items():
                ways[way] = lambda what=what: self._records(what)
        ways["kernels"] = lambda: self._session(False)
        if self.program.model is not None:
            ways["kernels and layers"] = lambda: self._session(True)
        if self.program.model is None and host_bound.CUDA:
            ways["torch.profiler, kernels alone"] = self._profiler
        return ways

    def _records(self, what: int) -> tuple[float, float]:
        assert self.records is not None
        self.records.records_begin(what)
        took = timed(self.program, host_bound.nothing, self.seconds)
        self._let_go()
        return took

    def _let_go(self) -> None:
        if host_bound.CUDA:
            torch.cuda.synchronize()
        if self.records is not None:
            self.records.records_end()

    def _session(self, layers: bool) -> tuple[float, float]:
        with joulemap.Session(**RUN) as run:
            if layers:
                run.watch(self.program.model)
            took = timed(self.program, run.step, self.seconds)
        self._let_go()
        return took

    def _profiler(self) -> tuple[float, float]:
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]):
            took = timed(self.program, host_bound.nothing, self.seconds)
        self._let_go()
        return took


def interval(values: list[float]) -> str:
    middle, low, high = (100 * (value - 1) for value in host_bound.interval(values))
    return f"{middle:+6.2f} % ({low:+.2f} to {high:+.2f})"


def play_full(key: str, args: argparse.Namespace) -> list[str]:
    program = host_bound.PROGRAMS[key]()
    with pinned():
        host_bound.warm(program, host_bound.nothing, 3.0)
    ways = Ways(program, args.records, args.stretch).all()
    took: dict[str, list[tuple[float, float]]] = {way: [] for way in ways}
    chance = random.Random(3)
    for _ in range(args.rounds):
        order = list(ways)
        chance.shuffle(order)
        for way in order:
            took[way].append(ways[way]())
    plain = took["plain"]
    out = [f"{program.name}, {args.rounds} rounds: plain step {1e3 * statistics.median(t[0] for t in plain):.3f} ms"]
    for way in ways:
        if way != "plain":
            wall, cpu = (interval([a[i] / b[i] for a, b in zip(took[way], plain, strict=True)]) for i in (0, 1))
            out.append(f"  {way:30s} wall {wall:30s} CPU {cpu}")
    return out


def play_budget(key: str, args: argparse.Namespace) -> list[str]:
    """Stretches of steps in the session and beside it, by turns; none beside it while it traces."""
    program = host_bound.PROGRAMS[key]()
    with pinned():
        host_bound.warm(program, host_bound.nothing, 3.0)
    within, beside, ratios, cpu_ratios = [0.0, 0.0], [0.0, 0.0], [], []
    with joulemap.Session(**RUN, budget=args.budget) as run:
        if program.model is not None:
            run.watch(program.model)
        until_s = time.perf_counter() + args.seconds
        while time.perf_counter() < until_s:
            traced, steps, start_s, cpu_s = False, 0, time.perf_counter(), time.thread_time()
            with pinned():
                least_s = start_s + args.stretch
                while tracing.on or time.perf_counter() < least_s:
                    program.step(run.step)
                    if tracing.on:
                        traced, least_s = True, time.perf_counter() + LET_GO_S
                    steps += 1
                cpu_s = time.thread_time() - cpu_s
                host_bound.sync()
                took_s = time.perf_counter() - start_s
                plain = host_bound.timed(program, host_bound.nothing, args.stretch)
            within[0] += took_s
            within[1] += steps
            beside[0] += plain[0] * steps  # as many steps, so that a slow second counts the same on both sides
            beside[1] += steps
            if not traced:
                ratios.append(took_s / steps / plain[0])
                cpu_ratios.append(cpu_s / steps / plain[1])
        cost = run.tracing_cost
    assert cost is not None
    whole = within[0] / beside[0]
    return [
        f"{program.name}, within {100 * args.budget:g} %, {args.seconds:g} s: {cost.steps} steps, "
        f"{cost.traced_steps} of them traced",
        f"  between turns: wall {interval(ratios)}, CPU {interval(cpu_ratios)}, {len(ratios)} pairs of stretches",
        f"  with all turns: {100 * (whole - 1):+.2f} %; it said {100 * cost.share:.2f} %",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mode", choices=["full", "budget"])
    parser.add_argument("--programs", nargs="+", choices=list(host_bound.PROGRAMS), default=list(host_bound.PROGRAMS))
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--stretch", type=float, default=0.2, help="seconds")
    parser.add_argument("--seconds", type=float, default=40.0, help="budget: of the session")
    parser.add_argument("--budget", type=float, default=0.01)
    parser.add_argument("--records", help="full: librecords.so, see records.cpp")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    out: list[str] = []
    for key in args.programs:
        told = (play_full if args.mode == "full" else play_budget)(key, args)
        print("\n".join(told), flush=True)
        out += told
        if args.out is not None:
            args.out.write_text("\n".join(out) + "\n")


if __name__ == "__main__":
    main()
