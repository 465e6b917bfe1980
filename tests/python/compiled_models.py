"""Small models to compile, with something to fuse."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Block(nn.Module):
    def __init__(self, breaks: bool = False) -> None:
        super().__init__()
        self.ln = nn.LayerNorm(8)
        self.fc = nn.Linear(8, 8)
        self.out = nn.Linear(8, 8)
        self.breaks = breaks

    def forward(self, x: Tensor) -> Tensor:
        y = self.fc(self.ln(x))
        if self.breaks:
            torch._dynamo.graph_break()
        return x + self.out(y)  # type: ignore[no-any-return]


class Net(nn.Module):
    def __init__(self, breaks: bool = False) -> None:
        super().__init__()
        self.blocks = nn.ModuleList([Block(breaks), Block(breaks)])
        self.head = nn.Linear(8, 2)

    def forward(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            x = block(x)
        return self.head(x)  # type: ignore[no-any-return]
