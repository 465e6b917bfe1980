"""What sampling hardware counters draws, by load, and whether figures of programs are the same with it and without.

Each load runs in sessions with counters sampled all of the time and with none, alternating, in one process. The board's
energy counter tells joules a step of both; the report tells those of its steps, and of the row "(counter sampling)".

    python bench/gpu/sampler_draw.py --out bench/results/sampler_draw.txt [--keep FOLDER] [--turns 3] [--seconds 5]

With --time --counters 18: how much longer steps take around each sampling than just before and after it, all in one
session. The host is another one from second to second, so sessions apart tell nothing of a percent.
"""

from __future__ import annotations

import argparse
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import joulemap
import numpy as np
import torch
from publish import head, publish
from subjects import make

START_S = 4.0  # until counters are sampled
DEFAULT_SHARE = 0.03  # of a run in which they are, without an option


@dataclass(frozen=True)
class Turn:
    """Of a step in one session: by the energy counter, by the report, with its half-width; seconds and watts."""

    meter_j: float
    report_j: float
    half_j: float
    sampler_j: float
    seconds: float
    power_w: float


def light() -> Callable[[], None]:
    x = torch.zeros(4096, device="cuda")

    def run() -> None:
        for _ in range(1000):
            x.add_(1)

    return run


def copies() -> Callable[[], None]:
    x = torch.empty(1 << 30, dtype=torch.uint8, device="cuda")
    y = torch.empty_like(x)

    def run() -> None:
        for _ in range(10):
            y.copy_(x)

    return run


def products(size: int, count: int, rest: bool) -> Callable[[], None]:
    a = torch.randn(size, size, device="cuda", dtype=torch.bfloat16)
    out = torch.empty_like(a)

    def run() -> None:
        for _ in range(count):
            begin = time.perf_counter()
            torch.mm(a, a, out=out)
            if rest:
                torch.cuda.synchronize()
                took = time.perf_counter() - begin
                while time.perf_counter() - begin < 2 * took:
                    pass

    return run


def training(name: str, batch: int, size: int) -> Callable[[], None]:
    subject = make(name, batch, size, {})
    return subject.step


def norms() -> Callable[[], None]:
    x = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
    norm = torch.nn.LayerNorm(8192, device="cuda", dtype=torch.bfloat16)

    def run() -> None:
        with torch.no_grad():
            for _ in range(50):
                norm(x)

    return run


LOADS: dict[str, Callable[[], Callable[[], None]]] = {
    "light kernels": light,
    "copies of 1 GB": copies,
    "products of 8192, half idle": lambda: products(8192, 4, rest=True),
    "products of 1024": lambda: products(1024, 500, rest=False),
    "products of 8192": lambda: products(8192, 10, rest=False),
    "gpt training": lambda: training("gpt", 16, 512),
    "resnet50 training": lambda: training("torchvision:resnet50", 128, 224),
    "layer norms": norms,
    "convnext_tiny training": lambda: training("torchvision:convnext_tiny", 96, 224),
    "bert training": lambda: training("transformers:bert", 32, 384),
}


def turn(run: Callable[[], None], seconds: float, *, counters: float | None, path: Path | None) -> Turn:
    """Run a load in a session of its own; the first START_S seconds do not count."""
    with joulemap.Session(path, counters=counters or False, overwrite=True, cpu=False) as session:
        end = time.monotonic() + START_S
        while time.monotonic() < end:
            run()
            torch.cuda.synchronize()
        begin_ns, count, end = time.monotonic_ns(), 0, time.monotonic() + seconds
        while time.monotonic() < end:
            with session.step():
                run()
                torch.cuda.synchronize()
            count += 1
        end_ns = time.monotonic_ns()
    measured = session.report(by="board", from_ns=begin_ns, to_ns=end_ns)
    steps = session.report(by="layer", from_ns=begin_ns, to_ns=end_ns)
    sampler = [row for row in steps.rows if row.name == "(counter sampling)"]
    sampler_j = sum(row.energy_j for row in sampler)
    total = measured.totals
    own = steps.totals.total_energy_j - sum(row.energy_j for row in sampler)
    half = (total.total_high_j - total.total_low_j) / 2
    if sampler:
        half = max(half, (sampler[0].energy_high_j - sampler[0].energy_low_j) / 2)
    took = (end_ns - begin_ns) * 1e-9
    return Turn(
        total.total_energy_j / count,
        own / count,
        half / count,
        sampler_j / count,
        took / count,
        total.total_energy_j / took,
    )


def compare(name: str, run: Callable[[], None], options: argparse.Namespace) -> str:
    on, off = [], []
    for i in range(options.turns):
        keep = options.keep / f"{name.replace(' ', '_').replace(',', '')}" if options.keep and i == 0 else None
        off.append(turn(run, options.seconds, counters=None, path=keep and keep.with_suffix(".off.joulemap")))
        on.append(turn(run, options.seconds, counters=options.counters, path=keep and keep.with_suffix(".on.joulemap")))
    off.append(turn(run, options.seconds, counters=None, path=None))

    def middle(of: list[Turn], what: str) -> float:
        return statistics.median(getattr(turn, what) for turn in of)

    def longer() -> float:
        """Return how much longer a step takes than in the sessions before and after."""
        beside = [(before.seconds + after.seconds) / 2 for before, after in pairwise(off)]
        return statistics.median(one.seconds / plain_s for one, plain_s in zip(on, beside, strict=True)) - 1

    plain = middle(off, "meter_j")
    spread = (max(t.meter_j for t in off) - min(t.meter_j for t in off)) / plain
    apart = middle(on, "report_j") / plain - 1
    return (
        f"{name:28} {middle(off, 'power_w'):6.1f} W {middle(on, 'power_w') - middle(off, 'power_w'):+6.1f} W"
        f" {100 * longer():+6.2f} %"
        f"  off {plain:.4g} J (spread {100 * spread:.2f} %), on {middle(on, 'meter_j'):.4g} J,"
        f" less own row {middle(on, 'report_j'):.4g} ±{middle(on, 'half_j'):.2g} J: {100 * apart:+.2f} %;"
        f" own {middle(on, 'sampler_j') / middle(on, 'seconds'):.1f} W"
    )


AROUND_S = 0.1  # of a sampling: its start and end may hold a step back too
BESIDE_S = 1.0  # before and after it, for comparison


def samplings(path: Path) -> list[tuple[float, float]]:
    """Return begin and end of each sampling of a recording, seconds of the monotonic clock."""
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as file:
        found = file.execute("SELECT t_ns, value FROM events WHERE kind = 'sampling' ORDER BY t_ns").fetchall()
    return [(1e-9 * a_ns, 1e-9 * b_ns) for (a_ns, begins), (b_ns, more) in pairwise(found) if begins and not more]


def longer_around(name: str, run: Callable[[], None], options: argparse.Namespace) -> str:
    folder = tempfile.TemporaryDirectory()
    path = Path(folder.name) / "time.joulemap"
    ends, took = [], []
    with joulemap.Session(path, counters=options.counters, cpu=False):
        last = begin = time.monotonic()
        while last < begin + options.seconds:
            run()
            torch.cuda.synchronize()
            now = time.monotonic()
            ends.append(now)
            took.append(now - last)
            last = now
    at, step_s = np.array(ends), np.array(took)
    more, counted_s = [], []
    for start, stop in samplings(path):
        inside = (at > start - AROUND_S) & (at - step_s < stop + AROUND_S)
        beside = (at > start - BESIDE_S) & (at < stop + BESIDE_S) & ~inside
        if beside.sum() < 4 or start - BESIDE_S < begin or stop + BESIDE_S > last:
            continue
        more.append(step_s[inside].sum() - inside.sum() * step_s[beside].mean())
        counted_s.append(stop - start)
    if not more:
        return f"{name:28} no sampling with a second on each side"
    chance = np.random.default_rng(0)
    means = np.mean(chance.choice(more, (4000, len(more))), axis=1)
    share = DEFAULT_SHARE / np.mean(counted_s)  # samplings a second of a run
    figures = [100 * share * of for of in (np.mean(more), *np.percentile(means, [2.5, 97.5]))]
    return (
        f"{name:28} {len(more)} samplings of {np.mean(counted_s):.2f} s: {1e3 * np.mean(more):+.2f} ms each; "
        f"at 3 % of the time {figures[0]:+.3f} % ({figures[1]:+.3f} to {figures[2]:+.3f}) longer"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--keep", type=Path, help="folder for the first recordings of each load")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--counters", type=float, default=60.0, help="seconds a minute that they are sampled")
    parser.add_argument("--time", action="store_true", help="what it costs in time, instead")
    parser.add_argument("--loads", nargs="*", default=list(LOADS))
    options = parser.parse_args()
    lines = head("What sampling counters draws; joules of a step with counters all of the time and without")
    lines.append("load, power without, more with, longer a step, joules a step")
    if options.time:
        lines = head("What sampling counters costs in time")
    for name in options.loads:
        run = LOADS[name]()
        run()
        torch.cuda.synchronize()
        try:
            lines.append((longer_around if options.time else compare)(name, run, options))
        except joulemap.Error as error:
            lines.append(f"{name:28} {error}")
        print(lines[-1], flush=True)
        del run
        torch.cuda.empty_cache()
    publish(lines, options.out)


if __name__ == "__main__":
    main()
