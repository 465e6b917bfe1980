"""An entry of the suite: a kernel's family, name, maker of calls, sizes and kinds of data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from joulemap._burst import Call
from joulemap.calibration.data import Data

Maker = Callable[..., Call]  # (data, *size) -> call
Size = tuple[int, ...]

# Kinds of data. Constants and zeros show how much power depends on data; the model is not fitted to them.
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
    """Scales sizes for an H100 to another board.

    Attributes
    ----------
    rows : float
        Factor of a size's first number: rows, batch or elements.
    tiny : bool
        Whether all numbers are made small, for tests on a CPU.
    """

    rows: float = 1.0
    tiny: bool = False

    def apply(self, size: Size) -> Size:
        """Return the size for this board; multiples of 8 stay multiples of 8."""
        first, *others = size
        if self.tiny:
            return (max(min(first, 32), first // 4096), *(max(min(n, 8), n // 32) for n in others))
        if self.rows == 1:
            return size
        scaled = max(1, round(first * self.rows))
        return (max(8, 8 * round(scaled / 8)) if first % 8 == 0 else scaled, *others)


@dataclass(frozen=True)
class Kernel:
    """A kernel with one or several sizes and kinds of data.

    Attributes
    ----------
    family, what : str
        Parts of its name: ``FAMILY/what-shape-dtype``.
    make : callable
        Takes `Data` and a size, and returns the call. It raises if this board cannot do it.
    dtype : torch.dtype
        Dtype of its tensors.
    sizes : list of tuple of int
        Arguments of the maker; the first number is scaled to the board.
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
        """Return the kinds of data for this size: constants and zeros only for the first size."""
        return self.data if size == self.sizes[0] else tuple(kind for kind in self.data if kind in BOTH)

    def name(self, size: Size) -> str:
        """Return the name for this size."""
        shape = "x".join(str(number) for number in size)
        return f"{self.family}/{self.what}-{shape}-{_DTYPES[self.dtype]}"

    def call(self, data: Data, size: Size) -> Call:
        """Return the call."""
        return self.make(data, *size)
