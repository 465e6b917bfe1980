"""Optimizer steps over a few large and many small weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from joulemap._burst import Call
from joulemap.calibration.data import Data
from joulemap.calibration.kernel import Maker

_RATE = 1e-9  # weights hardly change, however many steps are made
_LARGE = 8
_SMALL = 64
_SMALL_SIZE = 1024


def step(optimizer: Callable[..., torch.optim.Optimizer], **options: Any) -> Maker:
    """Return the maker of a step; the size is the number of weights."""

    def make(data: Data, count: int) -> Call:
        sizes = [max(1, count // _LARGE)] * _LARGE + [_SMALL_SIZE] * _SMALL
        weights = [torch.nn.Parameter(data.own(size, role="weight")) for size in sizes]
        for weight in weights:
            weight.grad = data.own(len(weight), role="weight")
        # "capturable" keeps the number of steps on the GPU, where a CUDA graph can count it.
        graph_options = {"capturable": True} if data.device.type == "cuda" and optimizer is not torch.optim.SGD else {}
        return optimizer(weights, lr=_RATE, **graph_options, **options).step

    return make
