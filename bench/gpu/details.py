"""Kernels on Nsight Compute's pages, and what they draw: what a model on the details page is learnt from.

    python bench/gpu/details.py record suite|others FOLDER    power of each kernel in bursts, by joulemap calibrate
    ncu --profile-from-start off ... python bench/gpu/details.py once suite|others [PART PARTS]

`suite` are the kernels of `joulemap calibrate` on random numbers, `others` some that no model has learnt from. `once`
calls each once, in an NVTX range of its name.
"""

from __future__ import annotations

import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from joulemap._burst import first_line, player_of
from joulemap.calibration import program
from joulemap.calibration.data import Data, Stock
from joulemap.calibration.kernel import RANDOM, Kernel
from joulemap.calibration.prepare import scale_of
from joulemap.calibration.suite import KERNELS
from torch.nn import functional

if TYPE_CHECKING:
    from collections.abc import Callable

    from joulemap._burst import Call

DEVICE = torch.device("cuda")
BF16, FP16, FP32 = torch.bfloat16, torch.float16, torch.float32
SECONDS = {"suite": 90.0, "others": 25.0}


def of_one(what: Callable[..., object]) -> Callable[..., Call]:
    """Make a call of one tensor."""

    def make(data: Data, *shape: int) -> Call:
        values = data.take(*shape)
        return lambda: what(values)

    return make


def indexed(data: Data, rows: int, width: int) -> Call:
    """Rows of a table in a random order."""
    table = data.take(rows, width)
    order = torch.randperm(rows, device=DEVICE)
    return lambda: table.index_select(0, order)


def convolved(groups: int, edge: int) -> Callable[..., Call]:
    """Convolutions of images with channels last."""

    def make(data: Data, batch: int, channels: int, size: int) -> Call:
        images = data.images(batch, channels, size, size, last=True)
        weight = data.weight(channels, channels // (groups or channels), edge, edge)
        weight = weight.contiguous(memory_format=torch.channels_last)
        return lambda: functional.conv2d(images, weight, padding=edge // 2, groups=groups or channels)

    return make


def product(data: Data, rows: int, inner: int, columns: int) -> Call:
    """A linear layer."""
    values, weight = data.take(rows, inner), data.weight(columns, inner)
    return lambda: functional.linear(values, weight)


def attention(data: Data, batch: int, heads: int, length: int, width: int) -> Call:
    """Attention, causal."""
    query, key, value = (data.take(batch, heads, length, width) for _ in range(3))
    return lambda: functional.scaled_dot_product_attention(query, key, value, is_causal=True)


OTHERS = [
    Kernel("conv", "3x3-small", convolved(1, 3), BF16, [(16, 64, 56)], RANDOM),
    Kernel("conv", "3x3", convolved(1, 3), BF16, [(64, 256, 28)], RANDOM),
    Kernel("conv", "depthwise-7x7", convolved(0, 7), BF16, [(32, 128, 56)], RANDOM),
    Kernel("linear", "bf16", product, BF16, [(3000, 1500, 5000)], RANDOM),
    Kernel("linear", "fp16", product, FP16, [(12000, 640, 640)], RANDOM),
    Kernel("linear", "fp32", product, FP32, [(1500, 1500, 1500)], RANDOM),
    Kernel("softmax", "wide", of_one(lambda x: torch.softmax(x, -1)), FP32, [(4096, 5000)], RANDOM),
    Kernel(
        "norm", "layer-1000", of_one(lambda x: functional.layer_norm(x, x.shape[-1:])), BF16, [(30000, 1000)], RANDOM
    ),
    Kernel("norm", "group", of_one(lambda x: functional.group_norm(x, 16)), BF16, [(32, 128, 4096)], RANDOM),
    Kernel("pointwise", "gelu-small", of_one(functional.gelu), BF16, [(1000, 3000)], RANDOM),
    Kernel("pointwise", "mish", of_one(functional.mish), FP32, [(4000, 5000)], RANDOM),
    Kernel("memory", "transpose", of_one(lambda x: x.t().contiguous()), BF16, [(6000, 5000)], RANDOM),
    Kernel("memory", "index", indexed, BF16, [(50000, 512)], RANDOM),
    Kernel("memory", "cat", of_one(lambda x: torch.cat((x, x))), FP32, [(3000, 4000)], RANDOM),
    Kernel("reduce", "var", of_one(lambda x: x.var(-1)), FP32, [(8000, 3000)], RANDOM),
    Kernel("reduce", "cumsum", of_one(lambda x: x.cumsum(-1)), FP32, [(4000, 3000)], RANDOM),
    Kernel("reduce", "topk", of_one(lambda x: x.topk(8, -1)[0]), FP32, [(4000, 3000)], RANDOM),
    Kernel("pool", "average", of_one(lambda x: functional.avg_pool2d(x, 3, 2)), BF16, [(64, 64, 112, 112)], RANDOM),
    Kernel("attention", "causal", attention, BF16, [(6, 12, 1536, 128)], RANDOM),
    Kernel("attention", "small", attention, FP16, [(16, 8, 256, 64)], RANDOM),
]


def kernels(which: str) -> list[Kernel]:
    """Return the chosen kernels, those of the suite on random numbers."""
    if which == "others":
        return OTHERS
    return [replace(kernel, data=RANDOM) for kernel in KERNELS if "random" in kernel.data]


def record(which: str, folder: Path) -> None:
    """Play and record them, and learn what each draws."""
    program.KERNELS = kernels(which)  # type: ignore[misc]
    path = folder / f"{which}.joulemap"
    with program.session(path, DEVICE, overwrite=True) as run:
        program.calibrate(run, DEVICE, SECONDS[which], 1, response_s=0)
    learn = [sys.executable, "-m", "joulemap", "calibrate", "--from", str(path), "--phase", "suite"]
    subprocess.run([*learn, "-o", str(folder / f"{which}.json")], check=False)
    path.unlink()


def once(which: str, part: int = 0, parts: int = 1) -> None:
    """Call each once while the profiler runs; those that cannot run are left out."""
    torch.manual_seed(1)
    random.seed(1)
    stock, scale, player = Stock(DEVICE), scale_of(DEVICE), player_of(DEVICE)
    cuda = torch.cuda.cudart()
    for kernel in kernels(which)[part::parts]:
        for size in kernel.sizes:
            scaled = scale.apply(size)
            try:
                call = kernel.call(Data(stock, "random", kernel.dtype), scaled)
                call()
                player.synchronize()
            except Exception as error:
                print("left out", kernel.name(scaled), first_line(error))
                continue
            cuda.cudaProfilerStart()
            torch.cuda.nvtx.range_push(kernel.name(scaled))
            call()
            player.synchronize()
            torch.cuda.nvtx.range_pop()
            cuda.cudaProfilerStop()


if __name__ == "__main__":
    if sys.argv[1] == "record":
        record(sys.argv[2], Path(sys.argv[3]))
    else:
        once(sys.argv[2], *map(int, sys.argv[3:]))
