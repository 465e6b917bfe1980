"""Layers of a live training run against the same layers alone, on a real board.

The truth of a layer's forward pass is its energy in short bursts with gaps: they keep the board under its power limit
and its clock high. Over several settings, E = calls x e + gap time x P_gap gives e, the energy of a call, from the
board's total alone. The live figure is what joulemap tells of the same layer while the model trains, from its kernels'
times and the sensor. Training runs at a clock some percent lower, so a few percent of difference are the clock's.
Training and bursts are recordings of their own: powers are learnt from all of a run, and a truth must not teach.

    python bench/gpu/bursts.py [--out bench/results/bursts.txt]
"""

from __future__ import annotations

import argparse
import datetime
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import joulemap
import numpy as np
import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "examples"))

from gpt_train import GPT, GPT2_SMALL, Block  # noqa: E402  (the example's model, found through the line above)

BATCH, LENGTH = 16, 1024
SETTINGS_MS = [(2, 8), (4, 4), (4, 8), (8, 8), (8, 16)]  # burst, gap
WINDOW_S = 1.5


@dataclass
class Part:
    """A layer, what goes into it, and the windows of bursts it ran in."""

    path: str
    module: torch.nn.Module
    example: torch.Tensor
    call_s: float = 0.0
    windows: list[tuple[int, int, int]] = field(default_factory=list)  # from_ns, to_ns, calls


def forward(part: Part) -> None:
    # As in training, each call casts its weights anew.
    with torch.no_grad(), torch.autocast("cuda", dtype=torch.bfloat16, cache_enabled=False):
        part.module(part.example)


def captured(part: Part, calls: int) -> torch.cuda.CUDAGraph:
    """Return a graph of so many calls: a burst must not wait for launches."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(calls):
            forward(part)
    return graph


def time_alone(part: Part) -> None:
    for _ in range(3):
        forward(part)
    torch.cuda.synchronize()
    graph = captured(part, 20)
    graph.replay()
    torch.cuda.synchronize()
    time.sleep(0.05)  # a rested board, as in a burst
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    graph.replay()
    end.record()
    torch.cuda.synchronize()
    part.call_s = begin.elapsed_time(end) / 1e3 / 20


def run_bursts(part: Part) -> None:
    for burst_ms, gap_ms in SETTINGS_MS:
        calls = max(1, round(burst_ms / 1e3 / part.call_s))
        graph = captured(part, calls)
        done = 0
        begin_ns = time.monotonic_ns()
        while time.monotonic_ns() - begin_ns < WINDOW_S * 1e9:
            graph.replay()
            torch.cuda.synchronize()
            time.sleep(gap_ms / 1e3)
            done += calls
        part.windows.append((begin_ns, time.monotonic_ns(), done))


def truth(part: Part, run: joulemap.Session) -> tuple[float, float]:
    """Energy of a call, J, and its standard error, from the board's totals over the windows."""
    energy_j, calls, gap_s = [], [], []
    for from_ns, to_ns, done in part.windows:
        totals = run.report(by="board", from_ns=from_ns, to_ns=to_ns).totals
        if totals.total_energy_j is None:
            raise SystemExit("the board gave no readings")
        energy_j.append(totals.total_energy_j)
        calls.append(done)
        gap_s.append((to_ns - from_ns) / 1e9 - done * part.call_s)
    design = np.column_stack([calls, gap_s])
    solution, residuals, _, _ = np.linalg.lstsq(design, np.array(energy_j), rcond=None)
    variance = float(residuals[0]) / (len(calls) - 2)
    return float(solution[0]), float(np.sqrt(variance * np.linalg.inv(design.T @ design)[0, 0]))


def live(part: Part, rows: list[joulemap.Row]) -> tuple[float, float, float]:
    """Power of the layer's forward calls in training, W, and the ends of its 95 % interval."""
    own = [row for row in rows if row.kind == "forward" and row.path == part.path]
    busy_s = sum(row.busy_s for row in own)
    sums_j = (
        sum(row.energy_j or 0.0 for row in own),
        sum(row.energy_low_j or 0.0 for row in own),
        sum(row.energy_high_j or 0.0 for row in own),
    )
    return sums_j[0] / busy_s, sums_j[1] / busy_s, sums_j[2] / busy_s


def parts_of(model: GPT) -> list[Part]:
    block = model.blocks[5]
    assert isinstance(block, Block)
    wide = torch.randn(BATCH, LENGTH, GPT2_SMALL.width, device="cuda")
    return [
        Part("blocks.5", block, wide),
        Part("blocks.5.attn", block.attn, wide),
        Part("blocks.5.mlp", block.mlp, wide),
        Part("blocks.5.ln_1", block.ln_1, wide),
        Part("head", model.head, wide),
    ]


def train(model: GPT, run: joulemap.Session, seconds: float) -> tuple[int, int]:
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, fused=True)
    tokens = torch.randint(GPT2_SMALL.vocabulary, (BATCH, LENGTH + 1), device="cuda")
    watch = run.watch(model)
    begin_ns = time.monotonic_ns()
    with run.phase("train"):
        while time.monotonic_ns() - begin_ns < seconds * 1e9:
            with torch.autocast("cuda", dtype=torch.bfloat16):
                logits = model(tokens[:, :-1])
                loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1).float(), tokens[:, 1:].flatten())
            loss.backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            torch.cuda.synchronize()
    end_ns = time.monotonic_ns()
    watch.remove()
    return begin_ns, end_ns


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20.0, help="of training")
    parser.add_argument("--out", type=Path, default=ROOT / "bench" / "results" / "bursts.txt")
    parser.add_argument("--record", help="keep the recording in this file")
    args = parser.parse_args()
    torch.manual_seed(0)
    lines = [
        f"bursts: {datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d %H:%M} UTC, {torch.cuda.get_device_name()}",
        f"$ python bench/gpu/bursts.py --seconds {args.seconds:g}",
        "",
        f"{'part (forward)':16} {'bursts':>14} {'training':>9} {'95 % interval':>16} {'difference':>11}",
    ]
    with joulemap.Session(path=args.record, overwrite=True, kernels=True) as run:
        model = GPT(GPT2_SMALL, LENGTH).to("cuda")
        parts = parts_of(model)
        begin_ns, end_ns = train(model, run, args.seconds)
        rows = run.report(by="span", from_ns=begin_ns, to_ns=end_ns).rows
    with joulemap.Session() as run:
        for part in parts:
            time_alone(part)
            run_bursts(part)
        for part in parts:
            energy_j, error_j = truth(part, run)
            burst_w, burst_error_w = energy_j / part.call_s, error_j / part.call_s
            live_w, low_w, high_w = live(part, rows)
            lines.append(
                f"{part.path:16} {burst_w:7.0f} ±{2 * burst_error_w:3.0f} W {live_w:7.0f} W "
                f"{low_w:6.0f} to {high_w:4.0f} W {100 * (live_w / burst_w - 1):+9.1f} %"
            )
    text = "\n".join(lines) + "\n"
    print(text, end="")
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(text)


if __name__ == "__main__":
    main()
