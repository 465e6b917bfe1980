"""One timed workload, in a process of its own: prints its rate as one JSON line.

Run by ../overhead.py, once a variant. `gpt` is the training step of examples/gpt_train.py's model; `launch` is the
launch-bound loop (64x64 ``add_``), where every cost of tracing shows.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "examples"))


@contextlib.contextmanager
def torch_profiler(on: bool) -> Iterator[None]:
    """torch.profiler, kernels only: the peer that launch-bound tracing is compared with."""
    if not on:
        yield
        return
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]):
        yield


def gpt_step(watch: bool) -> tuple[Callable[[], None], contextlib.ExitStack]:
    """The training step of examples/gpt_train.py; with `watch`, its layers are spans (and attach to the recorder)."""
    from gpt_train import GPT, GPT2_SMALL

    batch, length = 16, 1024
    model = GPT(GPT2_SMALL, length).to("cuda")
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, fused=True)
    tokens = torch.randint(GPT2_SMALL.vocabulary, (batch, length + 1), device="cuda")
    stack = contextlib.ExitStack()
    if watch:
        import joulemap

        stack.enter_context(joulemap.Session(kernels=True)).watch(model)

    def step() -> None:
        with torch.autocast("cuda", dtype=torch.bfloat16):
            logits = model(tokens[:, :-1])
            loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1).float(), tokens[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return step, stack


def launch_step() -> Callable[[], None]:
    """Ten thousand launches of a kernel that does next to nothing."""
    x = torch.zeros(64, 64, device="cuda")

    def step() -> None:
        for _ in range(10_000):
            x.add_(1.0)

    return step


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("workload", choices=["gpt", "launch"])
    parser.add_argument("--seconds", type=float, default=6.0)
    parser.add_argument("--warmup", type=float, default=2.0)
    parser.add_argument("--watch", action="store_true", help="layers as spans, as a user would")
    parser.add_argument("--torch-profiler", action="store_true")
    args = parser.parse_args()

    stack = contextlib.ExitStack()
    if args.workload == "gpt":
        step, stack = gpt_step(args.watch)
    else:
        step = launch_step()
    with stack, torch_profiler(args.torch_profiler):
        end = time.perf_counter() + args.warmup
        while time.perf_counter() < end:
            step()
            torch.cuda.synchronize()
        steps = 0
        begin = time.perf_counter()
        while time.perf_counter() < begin + args.seconds:
            step()
            steps += 1
            torch.cuda.synchronize()
        took_s = time.perf_counter() - begin
    print(json.dumps({"workload": args.workload, "steps": steps, "step_s": took_s / steps}))


if __name__ == "__main__":
    main()
