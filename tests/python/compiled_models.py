"""Small models to compile, with something to fuse, and what is asked of their spans."""

from __future__ import annotations

from collections.abc import Callable

import torch
from ring_reader import Span
from torch import Tensor, nn
from torch._dynamo.utils import counters


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


PRODUCTS = ["blocks.0.fc", "blocks.0.out", "blocks.1.fc", "blocks.1.out", "head"]


def train(called: Callable[[Tensor], Tensor], rows: int = 4) -> Tensor:
    y = called(torch.linspace(-1, 1, 8 * rows).reshape(rows, 8))
    y.square().sum().backward()
    return y.detach()


def is_fused(span: Span) -> bool:
    return span.type.startswith("fused(")


def plain(spans: list[Span]) -> set[tuple[str, ...]]:
    """The spans of modules with all that is around them, and the type."""
    return {(span.kind, *span.path(), span.type) for span in spans if not is_fused(span)}


def products(spans: list[Span]) -> list[str]:
    """The modules of matrix products, as they came."""
    names = [span.name for span in spans if span.name in PRODUCTS]
    return [name for i, name in enumerate(names) if i == 0 or names[i - 1] != name]


def assert_all_closed(spans: list[Span]) -> None:
    assert spans
    assert [span.name for span in spans if span.end_ns is None] == []


def graphs() -> int:
    return counters["stats"]["unique_graphs"]
