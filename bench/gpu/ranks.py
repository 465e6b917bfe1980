"""Two ranks on two GPUs, one with more to do: what the other one waits for it, against waiting power times time.

    python bench/gpu/ranks.py --out bench/results/ranks.txt      # two GPUs

The waiting power is measured by itself, twice. Long: rank 1 sleeps before an all-reduce, so that rank 0 only waits in
its kernel for 0.4 s, and the board's own reading of that time (without its ends) is the power. Short, as waits of a
training are: cycles of a burst of products on both and a wait of rank 0 for 2 to 64 ms; what a cycle's energy grows
by (the board's counter, over a second and more), divided by what its time grows by, is the power: for a row, over
waits of a quarter to four times what it waits a step. Then a model is trained by DistributedDataParallel and by
FSDP2, each step of rank 1 with more products of matrices, and every fourth batch of its own too, so that steps are
uneven. To reach: the joules of rank 0's rows that wait within 10 % of the short waits' power times their time, and
rank 1 named.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import joulemap
import torch
from publish import head, publish

WIDTH, LAYERS, BATCH, STEPS = 4096, 6, 2048, 1500
WAIT_S, WAITS, EDGE_S = 0.4, 8, 0.1
SHORT_MS, SHORT_S, ROUNDS, PRODUCTS = (2, 4, 8, 16, 32, 64), 2.0, 3, 6


def measure_waiting(run: joulemap.Session, rank: int) -> None:
    """Windows of rank 0 in which its GPU only waits."""
    import torch.distributed as dist

    one = torch.ones(1 << 20, device="cuda")
    dist.all_reduce(one)
    torch.cuda.synchronize()
    with run.phase("waiting"):
        for _ in range(WAITS):
            dist.barrier()
            torch.cuda.synchronize()
            if rank == 1:
                time.sleep(WAIT_S)
            dist.all_reduce(one, async_op=True)
            if rank == 0:
                time.sleep(EDGE_S)
                with run.window("waits"):
                    time.sleep(WAIT_S - 2 * EDGE_S)
            torch.cuda.synchronize()


def measure_short_waits(run: joulemap.Session, rank: int) -> None:
    """Phases of cycles: a burst on both, then rank 0 waits for so long; each phase is named for its wait."""
    import torch.distributed as dist

    one = torch.ones(1 << 10, device="cuda")
    a = torch.randn(WIDTH, WIDTH, device="cuda", dtype=torch.bfloat16)
    cycles_a_ms = 1_980_000  # of torch.cuda._sleep, about
    for number in range(ROUNDS * len(SHORT_MS)):
        wait_ms = SHORT_MS[number % len(SHORT_MS)]
        dist.barrier()
        with run.phase(f"short {wait_ms} ms"):
            for _ in range(int(1000 * SHORT_S / (wait_ms + 0.25 * PRODUCTS))):
                with run.step(samples=1):
                    for _ in range(PRODUCTS):
                        a @ a
                    if rank == 1 and wait_ms > 0:
                        torch.cuda._sleep(wait_ms * cycles_a_ms)
                    dist.all_reduce(one)
                    torch.cuda.synchronize()  # so that steps of the host are cycles of the GPU


def train(run: joulemap.Session, kind: str, rank: int) -> None:
    """Steps of which rank 1 has more to do than rank 0."""
    from torch.distributed.fsdp import fully_shard

    torch.manual_seed(rank)
    layers = [torch.nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(LAYERS)]
    model: torch.nn.Module = torch.nn.Sequential(*layers).to("cuda", torch.bfloat16)
    if kind == "ddp":
        model = torch.nn.parallel.DistributedDataParallel(model, device_ids=[rank])
    else:
        for layer in layers:
            fully_shard(layer)
        fully_shard(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
    x = torch.randn(BATCH, WIDTH, device="cuda", dtype=torch.bfloat16)
    extra = torch.randn(WIDTH, WIDTH, device="cuda", dtype=torch.bfloat16)
    with run.phase("train"):
        for i in range(STEPS):
            with run.step(samples=BATCH):
                for _ in range((20 if i % 4 else 40) if rank == 1 else 0):
                    extra @ extra
                model(x).float().pow(2).mean().backward()
                optimizer.step()
                optimizer.zero_grad()
        torch.cuda.synchronize()


def play(kind: str) -> None:
    """One rank of it, under torchrun and the recorder."""
    import torch.distributed as dist

    rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl")
    with joulemap.Session() as run:
        measure_waiting(run, rank)
        measure_short_waits(run, rank)
        train(run, kind, rank)
    dist.destroy_process_group()


def waiting_power_w(recording: joulemap.Recording) -> float:
    """Of GPU 0 in the windows that rank 0 waited in, as its sensor saw it."""
    windows = [span for span in recording.timeline().spans if span.name == "waits"]
    spent = [recording.energy(span.start_ns, span.end_ns, gpu=0).energy_j for span in windows]
    return sum(joules for joules in spent if joules is not None) / sum(span.duration_s for span in windows)


def short_cycles(recording: joulemap.Recording) -> list[tuple[float, float]]:
    """Seconds and joules of a cycle on GPU 0, for each of SHORT_MS; middle of each phase."""
    spans = recording.timeline().spans
    cycles: list[tuple[float, float]] = []
    for wait_ms in SHORT_MS:
        phases = [span for span in spans if span.name == f"short {wait_ms} ms" and span.rank in (None, 0)]
        steps = [
            [
                s
                for s in spans
                if s.kind == "step" and phase.start_ns <= s.start_ns < phase.end_ns and s.process_id == phase.process_id
            ]
            for phase in phases
        ]
        seconds = joules = count = 0.0
        for inside in steps:
            inside.sort(key=lambda step: step.start_ns)
            first, last = inside[len(inside) // 5], inside[-1]  # not the first fifth: the power has settled
            seconds += (last.start_ns - first.start_ns) / 1e9
            joules += recording.energy(first.start_ns, last.start_ns, gpu=0).energy_j or 0.0
            count += len(inside) - 1 - len(inside) // 5
        cycles.append((seconds / count, joules / count))
    return cycles


def short_waiting_power_w(cycles: list[tuple[float, float]], like_s: float) -> float:
    """What the energy of a cycle grows by, divided by what its time grows by, over waits like one of `like_s`."""
    like = [c for c, ms in zip(cycles, SHORT_MS, strict=True) if like_s / 4 <= ms / 1e3 <= like_s * 4]
    like = like if len(like) > 1 else cycles
    mean_s, mean_j = (sum(values) / len(like) for values in zip(*like, strict=True))
    return sum((s - mean_s) * (j - mean_j) for s, j in like) / sum((s - mean_s) ** 2 for s, _ in like)


def told(kind: str, recording: joulemap.Recording) -> list[str]:
    """Return lines of one run."""
    report = recording.report(by="layer", phase="train")
    cycles = short_cycles(recording)
    lines = [f"{kind}: a GPU that waits for 0.4 s draws {waiting_power_w(recording):.1f} W"]
    lines.append("  cycles: " + ", ".join(f"{1e3 * s:.2f} ms {j:.3f} J" for s, j in cycles))
    growth = [(j - i) / (t - s) for (s, i), (t, j) in pairwise(cycles)]
    lines.append("  from one to the next: " + ", ".join(f"{power_w:.0f}" for power_w in growth) + " W")
    for row in report:
        if row.kind == "collective":
            size = "bytes not told" if row.bytes is None else f"{row.bytes / 1e9:.2f} GB"
            exposed_s = 0.0 if row.exposed_s is None else row.exposed_s
            time_told = f"{row.busy_s:.2f} s ({exposed_s:.2f} exposed)"
            lines.append(f"  {row.name[:60]:60s} {row.calls} calls, {time_told}, {size}")
        if row.kind == "wait" and row.energy_j is not None and row.busy_s > 0.1:
            line = f"    {row.name:30s} {row.busy_s:.3f} s: {row.energy_j:.1f} J "
            line += f"({row.energy_low_j:.1f} to {row.energy_high_j:.1f})"
            if row.name.startswith("rank 0 "):  # whose board's waiting power is known
                power_w = short_waiting_power_w(cycles, row.busy_s / STEPS)
                by_power_j = power_w * row.busy_s
                off = 100 * (row.energy_j / by_power_j - 1)
                line += f", {power_w:.1f} W times time {by_power_j:.1f} J: {off:+.1f} %"
            lines.append(line)
    lines.append(f"  waited for: GPU {report.totals.collective_wait_gpu} (to be 1)")
    return lines + [f"  {note}" for note in report.notes if "last to a collective" in note]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--play", choices=("ddp", "fsdp"), help=argparse.SUPPRESS)
    parser.add_argument("--kinds", nargs="+", choices=("ddp", "fsdp"), default=("ddp", "fsdp"))
    parser.add_argument("--folder", type=Path, help="keep the recordings here")
    parser.add_argument("--out", type=Path, help="append to this file")
    args = parser.parse_args()
    if args.play:
        play(args.play)
        return
    if torch.cuda.device_count() < 2:
        print("ranks.py: there are no two GPUs here")
        return
    lines = head("Ranks that wait for each other")
    with tempfile.TemporaryDirectory() as folder:
        for kind in args.kinds:
            file = (args.folder or Path(folder)) / f"{kind}.joulemap"
            torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
            command = ["joulemap", "record", "-o", str(file), "--", *torchrun, __file__, "--play", kind]
            subprocess.run(command, check=True)
            lines += told(kind, joulemap.Recording(file))
    publish(lines, args.out)


if __name__ == "__main__":
    main()
