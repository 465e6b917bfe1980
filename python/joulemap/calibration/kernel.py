"""A line of the suite: a kernel's family, its name, who makes its calls, its sizes and its data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from joulemap._burst import Call
from joulemap.calibration.data import Data

Maker = Callable[..., Call]  # (data, *size) -> call
Size = tuple[int, ...]

# Data: what is in the tensors. Constants and zeros show how far data decide; they are left out of weights.
RANDOM = ("random",)
TRAINED = ("trained",)
BOTH = ("random", "trained")
ALL = ("random", "trained", "constant", "zeros")

HEAVY = frozenset({"product", "attention", "convolution", "double"})

_DTYPES = {
    torch.bfloat16: "bf16",
    torch.float16: "fp16",
    torch.float32: "fp32",
    torch.float64: "fp64",
    torch.int8: "int8",
    torch.int32: "int32",
    torch.int64: "int64",
}


@dataclass(frozen=True)
class Scale:
    """How sizes of an H100 become those of another board.

    Attributes
    ----------
    rows : float
        Factor of a size's first number: rows, batch, elements.
    tiny : bool
        Small in all directions: for tests on a CPU.
    """

    rows: float = 1.0
    tiny: bool = False

    def apply(self, size: Size) -> Size:
        """Return the size for this board; numbers stay multiples of 8 if they were."""
        first, *others = size
        if self.tiny:
            return (max(min(first, 32), first // 4096), *(max(min(n, 8), n // 32) for n in others))
        if self.rows == 1:
            return size
        scaled = max(1, round(first * self.rows))
        return (max(8, 8 * round(scaled / 8)) if first % 8 == 0 else scaled, *others)


@dataclass(frozen=True)
class Kernel:
    """A kernel in one or several sizes, on one or several kinds of data.

    Attributes
    ----------
    family, what : str
        Of its name: ``FAMILY/what-shape-dtype``.
    make : callable
        Takes `Data` and a size, returns the call; what it raises says why this board cannot do it.
    dtype : torch.dtype
        Of its tensors.
    sizes : list of tuple of int
        As the maker takes them; the first number goes with the size of the board.
    data : tuple of str
        Kinds of data: "random", "trained", "constant", "zeros".
    """

    family: str
    what: str
    make: Maker
    dtype: torch.dtype
    sizes: list[Size]
    data: tuple[str, ...] = RANDOM

    def kinds(self, size: Size) -> tuple[str, ...]:
        """Return the kinds of data at this size: constants and zeros only at the first."""
        return self.data if size == self.sizes[0] else tuple(kind for kind in self.data if kind in BOTH)

    def name(self, size: Size) -> str:
        """Return its name at this size."""
        shape = "x".join(str(number) for number in size)
        return f"{self.family}/{self.what}-{shape}-{_DTYPES[self.dtype]}"

    def call(self, data: Data, size: Size) -> Call:
        """Return the call."""
        return self.make(data, *size)
