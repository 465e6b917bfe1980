"""What the Python side costs the program: a span, a scope, a watched module. Limit for a span: 1 us."""

from __future__ import annotations

import time
from collections.abc import Callable

import joulemap
from joulemap import _core
from joulemap._tracing import tracing

REPEATS = 7
CALLS = 20_000  # few enough that the recorder empties the ring meanwhile


def least_ns(function: Callable[[], object], calls: int = CALLS) -> float:
    """Nanoseconds of CPU time of one call, the best of some loops, without the loop itself."""
    best = []
    for body in (function, int):
        times = []
        for _ in range(REPEATS):
            begin = time.thread_time_ns()
            for _ in range(calls):
                body()
            times.append((time.thread_time_ns() - begin) / calls)
            time.sleep(0.05)
        best.append(min(times))
    return best[0] - best[1]


def bench_spans(run: joulemap.Session | None) -> None:
    state = "recorded" if run else "without a run"
    kind = _core.SPAN_KINDS["window"]
    name = _core.intern("bench")
    begin, end, span = _core.span_begin, _core.span_end, _core.Span

    def functions() -> None:
        end(begin(kind, name))

    def context_manager() -> None:
        with span(kind, name):
            pass

    print(f"span_begin + span_end, {state}: {least_ns(functions):.0f} ns")
    print(f"with Span(...), {state}: {least_ns(context_manager):.0f} ns")
    if run:

        def scope() -> None:
            with run.step(samples=32):
                pass

        print(f"with run.step(samples=32), {state}: {least_ns(scope):.0f} ns")


def bench_hooks(run: joulemap.Session) -> None:
    try:
        import torch
    except ImportError:
        print("hooks of a watched module: not measured, PyTorch is not installed")
        return

    class Identity(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x

    class Scale(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * 2

    def training(module: torch.nn.Module, x: torch.Tensor) -> None:
        module(x).backward(gradient=x.detach())

    x = torch.randn(4)
    leaf = torch.randn(4, requires_grad=True)
    identity, scale = Identity(), Scale()
    inference = least_ns(lambda: identity(x))
    train = least_ns(lambda: training(scale, leaf), 2000)
    run.watch(identity)
    run.watch(scale)
    print(f"watched module, forward: +{least_ns(lambda: identity(x)) - inference:.0f} ns")
    watched = least_ns(lambda: training(scale, leaf), 2000)
    print(f"watched module, forward and backward: +{watched - train:.0f} ns")


def bench_budget(run: joulemap.Session) -> None:
    """In untraced steps: edges of steps, and a watched module, against the same without a session's hooks."""
    import torch

    identity, x = torch.nn.Identity(), torch.randn(4)
    plain = least_ns(lambda: identity(x))
    run.watch(identity)

    def step() -> None:
        with run.step(samples=32):
            pass

    while tracing.on:
        step()
        time.sleep(0.001)
    print(f"with run.step(samples=32), untraced within a budget: {least_ns(step):.0f} ns")
    print(f"watched module, forward, untraced: {least_ns(lambda: identity(x)) - plain:+.0f} ns")


def main() -> None:
    bench_spans(None)
    with joulemap.Session(sim="h200", cpu=False) as run:
        bench_spans(run)
        bench_hooks(run)
    with joulemap.Session(sim="h200", cpu=False, budget=0.01) as run:
        bench_budget(run)


if __name__ == "__main__":
    main()
