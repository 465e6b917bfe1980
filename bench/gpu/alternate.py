"""What tracing costs programs that the host holds back: ways that take turns of tenths of a second in one process.

Such a host is half as fast from one second to the next, and cores and processes differ: so all intervals run in one
process, on the same core, in an order of chance, and a figure is the median, over rounds, of a step's time divided by
the plain one of the same round, with its bootstrap interval (95 %); beside it the same of the main thread's CPU time.

`full`: plain; kernels traced; layers too; for comparison CUPTI's kernel records and nothing else (`records.cpp`), with
callbacks or records of launches, and torch.profiler with kernels alone. Each interval has a session of its own, and
CUPTI is let go (cuptiFinalize) after each.

Without a GPU it runs on the simulated board, which tries the script: its figures are none.

`budget`: a session within a budget, steps in it against steps that nobody tells it of: between its turns, that is
what an untraced step costs. Then another with nothing beside it, which the session would take for time of its own:
what the steps of its turns take longer than the others.

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
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import host_bound
import joulemap
import torch
from joulemap._tracing import tracing

ALL = os.sched_getaffinity(0)
CORE = sorted(ALL)[min(5, len(ALL) - 1)]
LET_GO_S = 0.4  # after a turn: what it leaves behind is its own, and not to be in the plain interval that comes next
NEAR = 300  # steps before and after a turn that its own are compared with
RUN: dict[str, Any] = {"kernels": True, "counters": False} if host_bound.CUDA else {"sim": "h200"}
CUPTI_ALONE = {  # bits of records.cpp
    "CUPTI alone: kernels": 1,
    "the same, callbacks of launches": 5,
    "the same, records of launches": 3,
}
ATTRIBUTES = {  # likewise, with kernels
    "with zeroed buffers": 9,
    "with one buffer for all threads": 17,
    "with pinned host memory": 33,
    "with 64 MB on the device": 65,
    "with all but pinned": 89,
    "subscribed alone": 0,
}
Interval = Callable[[], tuple[float, float]]


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
    """The ways to play a program, each for one interval."""

    def __init__(self, program: host_bound.Program, records: str | None, seconds: float, alone: dict[str, int]) -> None:
        self.program, self.seconds, self.alone = program, seconds, alone
        self.records = None if records is None else ctypes.CDLL(str(Path(records).resolve()))

    def all(self) -> dict[str, Interval]:
        ways: dict[str, Interval] = {"plain": lambda: timed(self.program, host_bound.nothing, self.seconds)}
        if self.records is not None:
            for way, what in self.alone.items():
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
    alone = CUPTI_ALONE | (ATTRIBUTES if args.attributes else {})
    ways = Ways(program, args.records, args.interval, alone).all()
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


def between_turns(program: host_bound.Program, args: argparse.Namespace) -> str:
    """Intervals of steps in a session and beside it, by turns; none while it traces."""
    ratios, cpu_ratios = [], []
    with joulemap.Session(**RUN, budget=args.budget) as run:
        if program.model is not None:
            run.watch(program.model)
        until_s = time.perf_counter() + args.seconds
        while time.perf_counter() < until_s:
            traced, steps, start_s, cpu_s = False, 0, time.perf_counter(), time.thread_time()
            with pinned():
                least_s = start_s + args.interval
                while tracing.on or time.perf_counter() < least_s:
                    program.step(run.step)
                    if tracing.on:
                        traced, least_s = True, time.perf_counter() + LET_GO_S
                    steps += 1
                cpu_s = time.thread_time() - cpu_s
                host_bound.sync()
                took_s = time.perf_counter() - start_s
                plain = host_bound.timed(program, host_bound.nothing, args.interval)
            if not traced:
                ratios.append(took_s / steps / plain[0])
                cpu_ratios.append(cpu_s / steps / plain[1])
    if not ratios:
        return "  between turns: nothing, it traced all of the time"
    return f"  between turns: wall {interval(ratios)}, CPU {interval(cpu_ratios)}, {len(ratios)} pairs of intervals"


@dataclass
class Step:
    """One of a session: from its begin to the next one's."""

    name: str
    traced: bool
    took_s: float


def all_steps(program: host_bound.Program, args: argparse.Namespace) -> tuple[list[Step], joulemap.types.TracingCost]:
    """Play the program within a budget, and nothing beside it."""
    began: list[tuple[float, str, bool]] = []

    @contextmanager
    def begin(**words: Any) -> Iterator[None]:
        start_s = time.perf_counter()
        with run.step(**words):
            began.append((start_s, words.get("name", ""), tracing.on))
            yield

    with joulemap.Session(**RUN, budget=args.budget) as run:
        if program.model is not None:
            run.watch(program.model)
        until_s = time.perf_counter() + args.seconds
        with pinned():
            while time.perf_counter() < until_s:
                program.step(begin)
            began.append((time.perf_counter(), "", False))
        cost = run.tracing_cost
    assert cost is not None
    steps = [Step(name, on, after[0] - start_s) for (start_s, name, on), after in pairwise(began)]
    return steps, cost


def longer(turn: list[int], steps: list[Step], clean: list[int]) -> float:
    """Seconds that the steps of a turn took longer than those of their names around it: hosts drift."""
    near = [i for i in clean if turn[0] - NEAR <= i <= turn[-1] + NEAR]
    total_s = 0.0
    for i in turn:
        alike = [steps[k].took_s for k in near if steps[k].name == steps[i].name]
        if len(alike) < 5:
            alike = [steps[k].took_s for k in clean if steps[k].name == steps[i].name]
        total_s += steps[i].took_s - statistics.mean(alike) if alike else 0.0
    return total_s


def with_turns(program: host_bound.Program, args: argparse.Namespace) -> str:
    """What the turns cost: their steps, and those until CUPTI is let go."""
    steps, cost = all_steps(program, args)
    turns: list[list[int]] = []
    clean: list[int] = []
    since_s = 0.0
    for i, step in enumerate(steps):
        if step.traced and (i == 0 or not steps[i - 1].traced):
            turns.append([])
        since_s = 0.0 if step.traced else since_s + step.took_s
        (turns[-1] if turns and (step.traced or since_s <= LET_GO_S) else clean).append(i)
    longer_s = [longer(turn, steps, clean) for turn in turns]
    total_s = sum(step.took_s for step in steps)
    middle, low, high = host_bound.interval(longer_s[1:] or [0.0], statistics.mean)
    later = len(longer_s) - 1
    return (
        f"  with turns: {cost.steps} steps in {total_s:.1f} s, {cost.traced_steps} traced; the first turn took "
        f"{1e3 * longer_s[0]:.0f} ms longer, {later} more {1e3 * middle:.0f} ms each ({1e3 * low:.0f} to "
        f"{1e3 * high:.0f}): {100 * sum(longer_s) / total_s:+.2f} % in all, "
        f"{100 * later * middle / total_s:+.2f} % ({100 * later * low / total_s:+.2f} to "
        f"{100 * later * high / total_s:+.2f}) without the first; it said {100 * cost.share:.2f} %"
    )


def play_budget(key: str, args: argparse.Namespace) -> list[str]:
    program = host_bound.PROGRAMS[key]()
    with pinned():
        host_bound.warm(program, host_bound.nothing, 3.0)
    head = f"{program.name}, within {100 * args.budget:g} %, {args.seconds:g} s each"
    return [head, between_turns(program, args), with_turns(program, args)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mode", choices=["full", "budget"])
    parser.add_argument("--programs", nargs="+", choices=list(host_bound.PROGRAMS), default=list(host_bound.PROGRAMS))
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--interval", type=float, default=0.2, help="seconds")
    parser.add_argument("--seconds", type=float, default=40.0, help="budget: of the session")
    parser.add_argument("--budget", type=float, default=0.01)
    parser.add_argument("--records", help="full: librecords.so, see records.cpp")
    parser.add_argument("--attributes", action="store_true", help="full: what might make CUPTI's records cheaper, too")
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
