"""What a sink costs the program that it follows: each step, and CPU time beside steps of 10 ms.

python bench/bench_sinks.py [--sim h200]
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import joulemap
from joulemap.sinks._sink import Sink

STEPS = 20_000
SECONDS = 10


class Nothing:
    """A logger that costs nothing itself."""

    name = "nothing"

    def scalars(self, *_: Any) -> None: ...

    def final(self, *_: Any) -> None: ...

    def close(self) -> None: ...


def step_us(run: joulemap.Session) -> float:
    begin_s = time.perf_counter()
    for _ in range(STEPS):
        with run.step(samples=4):
            pass
    return 1e6 * (time.perf_counter() - begin_s) / STEPS


def core_share(run: joulemap.Session) -> float:
    begin_s, cpu_s = time.monotonic(), time.process_time()
    while time.monotonic() < begin_s + SECONDS:
        with run.step(samples=4):
            time.sleep(0.01)
    return (time.process_time() - cpu_s) / SECONDS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sim", help="a simulated GPU")
    args = parser.parse_args()
    with joulemap.Session(kernels=False, sim=args.sim, cpu=False) as run:
        alone_us, alone = min(step_us(run) for _ in range(3)), core_share(run)
        with Sink(run, Nothing(), every=10**9):
            followed_us = min(step_us(run) for _ in range(3))
        with Sink(run, Nothing(), every=10):
            followed = core_share(run)
    print(f"a step: {alone_us:.2f} us alone, {followed_us:.2f} us with a sink")
    print(f"steps of 10 ms, each 10 logged: {1e2 * alone:.1f} % of a core alone, {1e2 * followed:.1f} % with a sink")


if __name__ == "__main__":
    main()
