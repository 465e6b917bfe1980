"""One program that repeats a step: warm-up, then `--seconds` of steps between the lines "begin" and "end N", or, for a
profiler, one step between cudaProfilerStart and Stop.

    python bench/gpu/workloads/stepped.py gpt --seconds 12
    ncu --profile-from-start off ... python bench/gpu/workloads/stepped.py resnet
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import subjects

WARM_UP = 5
QUEUED = 4  # steps that are launched before the first is waited for


def resnet() -> Callable[[], None]:
    """ResNet-50, inference in bf16, batches of 128."""
    from torchvision.models import resnet50

    model = resnet50(weights=None).to("cuda", torch.bfloat16, memory_format=torch.channels_last).eval()
    images = torch.randn(128, 3, 224, 224, device="cuda", dtype=torch.bfloat16).to(memory_format=torch.channels_last)

    @torch.inference_mode()
    def step() -> None:
        model(images)

    return step


def gpt() -> Callable[[], None]:
    """A training step of GPT-2 small, 16 x 1024 tokens."""
    return subjects.make("gpt", 16, 1024, {}).step


PROGRAMS = {"gpt": gpt, "resnet": resnet}


def repeat(step: Callable[[], None], seconds: float) -> int:
    """Repeat a step for so long, a few of them queued; return how many."""
    begun, count = time.monotonic(), 0
    waiting: list[torch.cuda.Event] = []
    while time.monotonic() - begun < seconds:
        step()
        count += 1
        waiting.append(torch.cuda.Event())
        waiting[-1].record()
        if len(waiting) > QUEUED:
            waiting.pop(0).synchronize()
    torch.cuda.synchronize()
    return count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", choices=sorted(PROGRAMS))
    parser.add_argument("--seconds", type=float, default=0, help="0: one step for a profiler")
    args = parser.parse_args()
    torch.manual_seed(1)
    step = PROGRAMS[args.program]()
    for _ in range(WARM_UP):
        step()
    torch.cuda.synchronize()
    if args.seconds > 0:
        print("begin", flush=True)
        count = repeat(step, args.seconds)
        print("end", count, flush=True)
        return
    torch.cuda.profiler.start()
    step()
    torch.cuda.synchronize()
    torch.cuda.profiler.stop()


if __name__ == "__main__":
    main()
