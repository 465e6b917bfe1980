"""Power of kernels of many families, each alone in bursts, on a real board: where family_power.c has its figures from.

As in bursts.py: bursts with gaps keep the board under its limit and its clock high, and the board's total over several
settings gives the energy of a call. Energy over time is the power, launch gaps of a captured graph (about a
microsecond) included, so calls of less than 20 us are left out. Random data: zeros draw up to half less.

    python bench/gpu/families.py --out bench/results/families.txt
"""

from __future__ import annotations

import argparse
import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joulemap
import torch
from joulemap._burst import Player, player_of
from joulemap._isolation.measure import Board, Figure, Part, Quantity, make_ready, measure
from publish import append, head
from torch import Tensor, nn
from torch.nn import functional

LEAST_CALL_S = 20e-6
WINDOW_S = 0.4


def bf16(*shape: int) -> Tensor:
    return torch.randn(*shape, device="cuda", dtype=torch.bfloat16)


def f32(*shape: int) -> Tensor:
    return torch.randn(*shape, device="cuda")


def product(rows: int, inner: int, columns: int, kind: str = "tn") -> Callable[[], Any]:
    """Return rows x columns over inner. `kind` as cuBLAS names it: of the right factor, then of the left one."""
    left = bf16(rows, inner) if kind[1] == "n" else bf16(inner, rows).t()
    right = bf16(columns, inner).t() if kind[0] == "t" else bf16(inner, columns)
    return lambda: left @ right


def attention(batch: int, heads: int, length: int, width: int, **how: Any) -> Callable[[], Any]:
    query, key, value = (bf16(batch, heads, length, width) for _ in range(3))
    return lambda: functional.scaled_dot_product_attention(query, key, value, **how)


def both_ways(forward: Callable[[], Tensor], *leaves: Tensor) -> Callable[[], Any]:
    """Return forward and backward."""
    for leaf in leaves:
        leaf.requires_grad_()
    shape = forward().detach()
    return lambda: torch.autograd.grad(forward(), leaves, shape)


def attention_both_ways(batch: int, heads: int, length: int, width: int, **how: Any) -> Callable[[], Any]:
    parts = [bf16(batch, heads, length, width) for _ in range(3)]
    return both_ways(lambda: functional.scaled_dot_product_attention(*parts, **how), *parts)


def convolution(channels: int, size: int, kernel: int, groups: int = 1, batch: int = 128) -> Callable[[], Any]:
    layer = nn.Conv2d(channels, channels, kernel, padding=kernel // 2, groups=groups, bias=False)
    layer = layer.to("cuda", dtype=torch.bfloat16, memory_format=torch.channels_last)
    images = bf16(batch, channels, size, size).to(memory_format=torch.channels_last)
    return lambda: layer(images)


def elementwise(of: Callable[[Tensor], Any], values: Tensor) -> Callable[[], Any]:
    return lambda: of(values)


def subjects() -> dict[str, Callable[[], Callable[[], Any]]]:
    """Makers of calls, by name: made one at a time, as all of them together would not fit."""
    dropped = {"dropout_p": 0.1}
    return {
        "product 4096 x 4096 x 4096": lambda: product(4096, 4096, 4096),
        "product 16384 x 768 x 768": lambda: product(16384, 768, 768),
        "product 16384 x 768 x 3072": lambda: product(16384, 768, 3072),
        "product 16384 x 3072 x 768": lambda: product(16384, 3072, 768),
        "product 8192 x 1024 x 4096, nn": lambda: product(8192, 1024, 4096, "nn"),
        "product 1024 x 8192 x 4096, nt": lambda: product(1024, 8192, 4096, "nt"),
        "product 401408 x 96 x 384": lambda: product(401408, 96, 384),
        "product 401408 x 384 x 96": lambda: product(401408, 384, 96),
        "product 8192 x 64 x 4096": lambda: product(8192, 64, 4096),
        "product 8192 x 768 x 30522 (rows of 4 bytes)": lambda: product(8192, 768, 30522),
        "product 8192 x 30522 x 768, nn (rows of 4 bytes)": lambda: product(8192, 30522, 768, "nn"),
        "product 4096 x 2047 x 4095 (rows of 2 bytes)": lambda: product(4096, 2047, 4095),
        "products 6144 of 49 x 32 x 49": lambda: (lambda a, b: lambda: a @ b)(bf16(6144, 49, 32), bf16(6144, 32, 49)),
        "attention 32 x 12 x 512 x 64": lambda: attention(32, 12, 512, 64),
        "attention 32 x 12 x 512 x 64, dropout": lambda: attention(32, 12, 512, 64, **dropped),
        "attention 8 x 16 x 1024 x 64, causal": lambda: attention(8, 16, 1024, 64, is_causal=True),
        "attention 4 x 16 x 2048 x 128, causal": lambda: attention(4, 16, 2048, 128, is_causal=True),
        "attention 32 x 12 x 512 x 64, both ways": lambda: attention_both_ways(32, 12, 512, 64),
        "attention 32 x 12 x 512 x 64, both ways, dropout": lambda: attention_both_ways(32, 12, 512, 64, **dropped),
        "attention 8 x 16 x 1024 x 64, both ways, causal": lambda: attention_both_ways(8, 16, 1024, 64, is_causal=True),
        "convolution 3x3, 64 of 56": lambda: convolution(64, 56, 3),
        "convolution 3x3, 256 of 14": lambda: convolution(256, 14, 3),
        "convolution 1x1, 512 of 28": lambda: convolution(512, 28, 1),
        "convolution 7x7 by channel, 192 of 28": lambda: convolution(192, 28, 7, 192),
        "layer norm 16384 x 768": lambda: elementwise(lambda x: functional.layer_norm(x, (768,)), f32(16384, 768)),
        "softmax 200k x 512": lambda: elementwise(lambda x: x.softmax(-1), f32(200000, 512)),
        "batch norm 64 of 56": lambda: elementwise(
            lambda x: functional.batch_norm(x, None, None, training=True),
            bf16(128, 64, 56, 56).to(memory_format=torch.channels_last),
        ),
        "sum of rows 16384 x 3072": lambda: elementwise(lambda x: x.sum(0), bf16(16384, 3072)),
        "add 100M": lambda: elementwise(lambda x: x + x, bf16(100_000_000)),
        "add 12M": lambda: elementwise(lambda x: x + 1, bf16(12_582_912)),
        "dropout 100M, single": lambda: elementwise(lambda x: functional.dropout(x, 0.1), f32(100_000_000)),
        "masked fill 100M": lambda: (lambda x, m: lambda: x.masked_fill(m, 0.0))(
            bf16(100_000_000), torch.rand(100_000_000, device="cuda") > 0.5
        ),
        "gelu 50M": lambda: elementwise(functional.gelu, bf16(50_331_648)),
        "copy to bf16, 100M": lambda: elementwise(lambda x: x.bfloat16(), f32(100_000_000)),
        "copy to bf16, 9M": lambda: elementwise(lambda x: x.bfloat16(), f32(9_437_184)),
        "copy transposed 16384 x 3072": lambda: elementwise(lambda x: x.t().contiguous(), bf16(16384, 3072)),
        "fill 100M": lambda: elementwise(lambda x: x.fill_(1), f32(100_000_000)),
    }


def power_of(player: Player, name: str, make: Callable[[], Callable[[], Any]]) -> Figure | None:
    """Measure one call; None if it is too short."""
    with player.stream():
        part = Part(name, name, make())
    with joulemap.Session(kernels=False, counters=False) as run:
        make_ready(player, part)
        if part.call_s < LEAST_CALL_S:
            return None
        quantity = Quantity(part)
        measure(player, Board(run, player.device), [quantity], window_s=WINDOW_S, chance=random.Random(0))
    return quantity.figure()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="append the table to this file")
    args = parser.parse_args()
    torch.manual_seed(0)
    player = player_of(torch.device("cuda"))
    lines = [
        *head("families"),
        f"{'call':52} {'time':>9} {'power, 95 %':>14} {'gaps':>6} {'clock':>9}",
    ]
    print("\n".join(lines), flush=True)
    for name, make in subjects().items():
        figure = power_of(player, name, make)
        torch.cuda.empty_cache()
        if figure is None:
            continue
        power_w, half_w = figure.energy_j / figure.call_s, figure.half_j / figure.call_s
        clock_mhz = math.nan if figure.clock_mhz is None else figure.clock_mhz
        power = f"{power_w:6.0f} ±{half_w:3.0f} W {figure.gap_w:4.0f} W {clock_mhz:5.0f} MHz"
        lines.append(f"{name:52} {1e6 * figure.call_s:6.0f} us {power}")
        print(lines[-1], flush=True)
    append(lines, args.out)


if __name__ == "__main__":
    main()
