"""Kernels that the calibration suite does not have: in live bursts and random mixtures, against the same alone.

The truth of a kernel is the energy of a call in bursts with gaps, from the board's total alone
(`joulemap.torch.isolate` measures layers so). Then two live runs, recorded with counters: `bursts`, each kernel by
itself for a few hundred milliseconds, and `mixture`, calls of all kernels in random order, a few of one at a time,
with a rest now and then that keeps the board under its power limit (a truth at another clock is no truth). What
joulemap tells of a call there stands beside the truth; as do the power sensor alone, and all energy that is not idle
shared by time. Inputs are normal random numbers. The clock of the live run is printed. Power goes with temperature:
--heat plays a little of the mixture before each window of a kernel alone.

    joulemap calibrate && python bench/gpu/kernels.py --out bench/results/kernels.txt
"""

from __future__ import annotations

import argparse
import math
import random
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import joulemap
import torch
from bursts import FORGOTTEN_S, mean_busy_w
from joulemap import _core
from joulemap._burst import Call, player_of
from joulemap._isolation.measure import Board, Part, Quantity, make_ready, measure
from publish import head, publish, spread
from torch import Tensor
from torch.nn import functional

BF16, FP16, FP32 = torch.bfloat16, torch.float16, torch.float32
FORWARD = _core.SPAN_KINDS["forward"]
AHEAD = 24  # calls that the host may be ahead
MOST_IN_A_ROW = 6
WORK_S, REST_S = 40e-3, 12e-3  # of a mixture
ALONE_S = 0.3


def normal(*shape: int, dtype: torch.dtype = BF16, last: bool = False) -> Tensor:
    numbers = torch.randn(shape, device="cuda").to(dtype)
    return numbers.contiguous(memory_format=torch.channels_last) if last else numbers


def of(function: Callable[..., object], *inputs: Tensor, **options: object) -> Call:
    return lambda: function(*inputs, **options)


def clip(count: int) -> Call:
    weights = [normal(1024, 1024, dtype=FP32).requires_grad_() for _ in range(count)]
    for weight in weights:
        weight.grad = torch.randn_like(weight)
    return lambda: torch.nn.utils.clip_grad_norm_(weights, 1.0, foreach=True)


def rmsprop(count: int) -> Call:
    weights = [normal(1024, 1024, dtype=FP32).requires_grad_() for _ in range(count)]
    for weight in weights:
        weight.grad = torch.randn_like(weight)
    return torch.optim.RMSprop(weights, lr=1e-4, foreach=True, capturable=True).step


def grid_sample() -> Call:
    images, grid = normal(32, 64, 112, 112, dtype=FP32), torch.rand(32, 112, 112, 2, device="cuda") * 2 - 1
    return of(functional.grid_sample, images, grid, align_corners=False)


def embedding_bag() -> Call:
    table, words = normal(50000, 512, dtype=FP32), torch.randint(50000, (16384, 8), device="cuda")
    return of(functional.embedding_bag, words, table, mode="mean")


def masked_attention() -> Call:
    q, k, v = (normal(16, 12, 512, 64) for _ in range(3))
    return of(functional.scaled_dot_product_attention, q, k, v, attn_mask=normal(16, 1, 512, 512))


# Each some 0.1 to 2 ms on an H100. None of these operations is in python/joulemap/calibration/suite.py in this form.
KERNELS: dict[str, Callable[[], Call]] = {
    "logsumexp": lambda: of(torch.logsumexp, normal(8192, 8192, dtype=FP32), 1),
    "hardswish": lambda: of(functional.hardswish, normal(96, 2**20)),
    "log1p": lambda: of(torch.log1p, normal(48, 2**20, dtype=FP32).abs_()),
    "rsqrt": lambda: of(torch.rsqrt, normal(64, 2**20).abs_()),
    "pow": lambda: of(torch.pow, normal(32, 2**20, dtype=FP32).abs_(), 1.7),
    "atan2": lambda: of(torch.atan2, normal(32, 2**20, dtype=FP32), normal(32, 2**20, dtype=FP32)),
    "sigmoid-half": lambda: of(torch.sigmoid, normal(96, 2**20, dtype=FP16)),
    "lerp": lambda: of(torch.lerp, *(normal(24, 2**20, dtype=FP32) for _ in range(2)), 0.3),
    "maximum": lambda: of(torch.maximum, normal(64, 2**20), normal(64, 2**20)),
    "mse-loss": lambda: of(functional.mse_loss, normal(48, 2**20), normal(48, 2**20)),
    "tril": lambda: of(torch.tril, normal(16, 2048, 2048, dtype=FP32)),
    "flip": lambda: of(torch.flip, normal(4096, 16384), (1,)),
    "roll": lambda: of(torch.roll, normal(8192, 8192, dtype=FP32), 77, 1),
    "pixel-shuffle": lambda: of(functional.pixel_shuffle, normal(32, 256, 64, 64), 2),
    "unfold": lambda: of(functional.unfold, normal(16, 64, 56, 56), 3, padding=1),
    "var-mean": lambda: of(torch.var_mean, normal(16384, 4096), 1),
    "amax-columns": lambda: of(torch.amax, normal(16384, 4096, dtype=FP32), 0),
    "cummax": lambda: of(torch.cummax, normal(4096, 2048, dtype=FP32), 1),
    "histogram": lambda: of(torch.histc, normal(24, 2**20, dtype=FP32), 100, -4, 4),
    "clip-grad-norm": lambda: clip(32),
    "rmsprop": lambda: rmsprop(12),
    "grid-sample": grid_sample,
    "embedding-bag": embedding_bag,
    "rms-norm": lambda: of(functional.rms_norm, normal(16384, 2048), [2048]),
    "instance-norm": lambda: of(functional.instance_norm, normal(64, 128, 56, 56, dtype=FP32)),
    "max-pool-3d": lambda: of(functional.max_pool3d, normal(8, 64, 16, 56, 56, dtype=FP32), 2),
    "rfft": lambda: of(torch.fft.rfft, normal(4096, 8192, dtype=FP32)),
    "distances": lambda: of(torch.cdist, normal(2048, 512, dtype=FP32), normal(2048, 512, dtype=FP32)),
    "product-complex": lambda: of(torch.matmul, *(torch.randn(2, 1024, 1024, device="cuda") + 0j for _ in range(2))),
    "product-256-batched": lambda: of(torch.bmm, *(normal(512, 256, 256, dtype=FP16) for _ in range(2))),
    "product-1536": lambda: of(functional.linear, normal(12000, 1536), normal(6144, 1536)),
    "product-bias-half": lambda: of(
        torch.addmm, normal(5000, dtype=FP16), normal(3000, 1000, dtype=FP16), normal(1000, 5000, dtype=FP16)
    ),
    "product-tall": lambda: of(torch.matmul, normal(65536, 1024), normal(1024, 512)),
    "convolution-1d": lambda: of(functional.conv1d, normal(32, 256, 4096), normal(256, 256, 5), padding=2),
    "convolution-3d": lambda: of(functional.conv3d, normal(8, 32, 16, 56, 56), normal(64, 32, 3, 3, 3), padding=1),
    "convolution-transposed": lambda: of(
        functional.conv_transpose2d,
        normal(32, 128, 56, 56, last=True),
        normal(128, 64, 4, 4, last=True),
        stride=2,
        padding=1,
    ),
    "convolution-dilated": lambda: of(
        functional.conv2d, normal(32, 256, 28, 28, last=True), normal(256, 256, 3, 3, last=True), padding=2, dilation=2
    ),
    "convolution-5x5": lambda: of(
        functional.conv2d, normal(64, 96, 28, 28, last=True), normal(192, 96, 5, 5, last=True), padding=2
    ),
    "attention-masked": masked_attention,
    "attention-across": lambda: of(
        functional.scaled_dot_product_attention, normal(32, 16, 256, 64), *(normal(32, 16, 2048, 64) for _ in range(2))
    ),
    "attention-wide": lambda: of(functional.scaled_dot_product_attention, *(normal(8, 8, 1024, 256) for _ in range(3))),
}


# ---- playing


def play(part: Part, calls: int) -> None:
    """Plain calls, each a span of its own name."""
    for _ in range(calls):
        with _core.Span(FORWARD, part.name, 0):
            part.call()


def play_alone(parts: list[Part], chance: random.Random) -> None:
    """Each by itself, in bursts of some milliseconds with gaps as long."""
    for part in chance.sample(parts, len(parts)):
        end_s = time.monotonic() + ALONE_S
        while time.monotonic() < end_s:
            play(part, max(1, round(4e-3 / part.call_s)))
            torch.cuda.synchronize()
            time.sleep(4e-3)


def keep_warm(parts: list[Part], seconds: float, chance: random.Random) -> None:
    """Heat the board, and leave it at rest."""
    if seconds > 0:
        play_mixture(parts, seconds, chance)
        time.sleep(FORGOTTEN_S)


def play_mixture(parts: list[Part], seconds: float, chance: random.Random) -> None:
    """All in random order, each as often as gives all of them about the same time, with rests."""
    weights = [1 / part.call_s for part in parts]
    end_s = time.monotonic() + seconds
    rest_s = time.monotonic() + WORK_S
    ahead: list[torch.cuda.Event] = []
    while time.monotonic() < end_s:
        if time.monotonic() > rest_s:
            torch.cuda.synchronize()
            time.sleep(REST_S)
            rest_s = time.monotonic() + WORK_S
        play(chance.choices(parts, weights)[0], chance.randint(1, MOST_IN_A_ROW))
        event = torch.cuda.Event()
        event.record()
        ahead.append(event)
        if len(ahead) > AHEAD:
            ahead.pop(0).synchronize()
    torch.cuda.synchronize()


# ---- what is told of them


@dataclass(frozen=True)
class Told:
    """Energy of a call with the half of its 95 % interval, J, and its seconds."""

    energy_j: float
    half_j: float
    call_s: float
    known: str


def told(report: joulemap.types.Report) -> dict[str, Told]:
    found = {}
    for row in report.rows:
        if row.kind == "layer" and row.calls and row.energy_j is not None:
            low_j, high_j = row.energy_low_j or 0.0, row.energy_high_j or 0.0
            half_j = max(high_j - row.energy_j, row.energy_j - low_j) / row.calls
            found[row.path] = Told(row.energy_j / row.calls, half_j, row.busy_s / row.calls, row.provenance)
    return found


@dataclass(frozen=True)
class Compared:
    """A kernel alone and in a live run. Gaps between the kernels of a call are idle time there: taken off at gap_w."""

    name: str
    alone_j: float
    alone_half_j: float
    live: Told
    ring: Told
    by_time_j: float

    def off(self, energy_j: float) -> float:
        return energy_j / self.alone_j - 1

    @property
    def held(self) -> bool:
        return abs(self.live.energy_j - self.alone_j) <= math.hypot(self.live.half_j, self.alone_half_j)

    def line(self) -> str:
        offs = " ".join(
            f"{100 * self.off(j):+7.1f} %" for j in (self.live.energy_j, self.ring.energy_j, self.by_time_j)
        )
        return (
            f"{self.name:24} {1e6 * self.live.call_s:7.0f} us {1e3 * self.alone_j:9.2f} "
            f"±{1e3 * self.alone_half_j:5.2f} {1e3 * self.live.energy_j:9.2f} "
            f"±{1e3 * self.live.half_j:6.2f} mJ {self.live.known:>9} {'yes' if self.held else 'NO':>4} {offs}"
        )


def compare(name: str, parts: list[Part], run: joulemap.Session, begin_ns: int, end_ns: int) -> list[str]:
    window = {"by": "layer", "from_ns": begin_ns, "to_ns": end_ns}
    report, alone = run.report(**window), run.report(**window, model="none")
    live, ring, mean_w = told(report), told(alone), mean_busy_w(alone)
    compared = []
    for part in parts:
        figure = part.figure()
        if figure is None or part.name not in live:
            raise SystemExit(f"{name}: nothing is told of {part.name}")
        call_s = live[part.name].call_s
        truth_j = figure.energy_j - figure.gap_w * max(0.0, figure.call_s - call_s)
        compared.append(Compared(part.name, truth_j, figure.half_j, live[part.name], ring[part.name], mean_w * call_s))
    compared.sort(key=lambda one: -abs(one.off(one.live.energy_j)))
    totals, quality = report.totals, report.quality
    lines = [
        f"{name}: {totals.duration_s:.1f} s, {totals.total_energy_j:.0f} J, residual {totals.residual_w:.1f} W, chi2/n "
        f"{totals.chi2_n:.1f}, clock {quality.clock_mhz:.0f} MHz, counters {quality.counter_windows} windows",
        f"{'call':24} {'time':>10} {'alone, mJ':>16} {'live, mJ':>20} {'known':>12} {'held':>4} {'off by':>9} "
        f"{'ring':>9} {'by time':>9}",
        *(one.line() for one in compared),
        f"{sum(one.held for one in compared)} of {len(compared)} 95 % intervals hold the truth",
    ]
    lines += spread(
        {
            "as reported": [one.off(one.live.energy_j) for one in compared],
            "the power sensor alone": [one.off(one.ring.energy_j) for one in compared],
            "shared by time": [one.off(one.by_time_j) for one in compared],
        }
    )
    return [*lines, ""]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20.0, help="of the mixture")
    parser.add_argument("--window", type=float, default=0.25, help="seconds of bursts at each setting, for the truth")
    parser.add_argument("--heat", type=float, default=0.0, help="seconds of the mixture before each of these windows")
    parser.add_argument("--count", type=int, default=len(KERNELS), help="kernels, drawn by chance")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="append the tables to this file")
    parser.add_argument("--record", type=Path, help="keep the live recording in this file")
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    chance = random.Random(args.seed)
    player = player_of(torch.device("cuda"))
    parts, left_out = [], []
    for name in sorted(chance.sample(sorted(KERNELS), min(args.count, len(KERNELS)))):
        try:
            with player.stream():
                part = Part(name, "", KERNELS[name]())
            make_ready(player, part)
        except RuntimeError as error:
            left_out.append(f"{name} is left out: {error}")
            continue
        if part.why:
            left_out.append(f"{name} is left out: {part.why}")
        else:
            parts.append(part)
    with joulemap.Session(kernels=False, counters=False) as run:
        board = Board(run, player.device)
        measure(
            player,
            board,
            [Quantity(part) for part in parts],
            window_s=args.window,
            chance=chance,
            between=lambda: keep_warm(parts, args.heat, chance),
        )
    folder = tempfile.TemporaryDirectory()
    kept = str(args.record or Path(folder.name) / "live.joulemap")
    tables = []
    with joulemap.Session(path=kept, overwrite=True, kernels=True, counters=60) as run:
        time.sleep(1.0)
        for name, live in (
            ("bursts", lambda: play_alone(parts, chance)),
            ("mixture", lambda: play_mixture(parts, args.seconds, chance)),
        ):
            play_mixture(parts, 1.0, chance)  # counters have begun, all kernels are loaded
            begin_ns = time.monotonic_ns()
            with run.phase(name):
                live()
            end_ns = time.monotonic_ns()
            time.sleep(0.3)
            tables.append((name, begin_ns, end_ns))
        lines = [line for name, begin, end in tables for line in compare(name, parts, run, begin, end)]
    publish([*head("kernels"), *lines, *left_out], args.out)


if __name__ == "__main__":
    main()
