"""The data of the suite: numbers of several kinds, drawn once; kernels use views of them.

Power depends on data: a matrix product of zeros draws half the power of random numbers. The kinds:

- random: normal, mean 0, standard deviation 1;
- trained: heavy-tailed activations, half of them zero (ReLU), six channels in a thousand twenty times larger;
  heavy-tailed small weights (0.02);
- constant: all 1;
- zeros: all 0.
"""

from __future__ import annotations

import torch
from torch import Tensor

_STOCK = 64 * 2**20  # elements of each row on an H100
_LEAST = 2**20
_CHUNK = 2**22
_COMMON = (torch.bfloat16, torch.float32)
_CHANNELS = 1024
_OUTLIERS = (17, 130, 333, 512, 700, 901)
_OUTLIER = 20.0
_ACTIVATION = "activation"
_WEIGHT = "weight"


def _trained(values: Tensor, role: str) -> Tensor:
    """Make numbers like those of a trained model from normal ones; their count is a multiple of the channels."""
    heavy = values * torch.exp(0.5 * torch.randn_like(values))
    if role == _WEIGHT:
        return 0.02 * heavy
    heavy = heavy.relu_().view(-1, _CHANNELS)
    heavy[:, list(_OUTLIERS)] *= _OUTLIER
    return heavy.flatten()


def _draw(count: int, device: torch.device, kind: str, role: str) -> Tensor:
    """Return `count` numbers, float32."""
    if kind == "constant":
        return torch.ones(count, device=device)
    if kind == "zeros":
        return torch.zeros(count, device=device)
    values = torch.randn(count, device=device)
    return values if kind == "random" else _trained(values, role)


class Stock:
    """Long rows of numbers, one per kind and dtype, for the whole suite.

    Parameters
    ----------
    device : torch.device
        Their device.
    share : float
        Length of a row as a share of that on an H100, 64 Mi elements.
    """

    def __init__(self, device: torch.device, share: float = 1.0) -> None:
        self.device = device
        self._length = max(1, round(_STOCK * share / _LEAST)) * _LEAST
        self._rows: dict[tuple[str, str, torch.dtype], Tensor] = {}

    def row(self, kind: str, role: str, dtype: torch.dtype) -> Tensor:
        """Return a whole row. Constants, zeros and rare dtypes have shorter rows, as kernels need less of them."""
        role = role if kind == "trained" else _ACTIVATION
        key = (kind, role, dtype)
        if key not in self._rows:
            length = self._length if kind in ("random", "trained") else self._length // 2
            if dtype not in _COMMON:
                length = length * 2 // max(4, dtype.itemsize)
            row = torch.empty(length, device=self.device, dtype=dtype)
            for part in row.split(_CHUNK):
                values = _draw(len(part), self.device, kind, role)
                part.copy_(values if dtype.is_floating_point else values.mul_(40).clamp_(-127, 127))
            self._rows[key] = row
        return self._rows[key]


class Data:
    """The tensors of one kernel: views of the stock that do not overlap.

    Parameters
    ----------
    stock : Stock
        The source of the numbers.
    kind : str
        "random", "trained", "constant" or "zeros".
    dtype : torch.dtype
        The default dtype.
    """

    def __init__(self, stock: Stock, kind: str, dtype: torch.dtype) -> None:
        self.device = stock.device
        self.kind = kind
        self.dtype = dtype
        self._stock = stock
        self._taken: dict[int, int] = {}  # by the id of the row

    def take(self, *shape: int, dtype: torch.dtype | None = None, role: str = _ACTIVATION) -> Tensor:
        """Return a read-only tensor."""
        dtype = dtype or self.dtype
        row = self._stock.row(self.kind, role, dtype)
        count = torch.Size(shape).numel()
        begin = self._taken.get(id(row), 0)
        if begin + count > len(row):  # too long for the stock: a new tensor of repeated numbers
            return row.repeat(-(-count // len(row)))[:count].view(shape)
        self._taken[id(row)] = begin + -(-count // _CHANNELS) * _CHANNELS
        return row[begin : begin + count].view(shape)

    def weight(self, *shape: int, dtype: torch.dtype | None = None) -> Tensor:
        """Return a read-only tensor of weights."""
        return self.take(*shape, dtype=dtype, role=_WEIGHT)

    def own(self, *shape: int, dtype: torch.dtype | None = None, role: str = _ACTIVATION) -> Tensor:
        """Return a writable tensor."""
        return self.take(*shape, dtype=dtype, role=role).clone()

    def images(self, *shape: int, last: bool = True) -> Tensor:
        """Return images of shape (batch, channels, height, width); `last`: channels are last in memory."""
        if not last:
            return self.take(*shape)
        batch, channels, height, width = shape
        return self.take(batch, height, width, channels).permute(0, 3, 1, 2)

    def indices(self, below: int, *shape: int) -> Tensor:
        """Return random indices below `below`, int64; all 0 for constant data."""
        if self.kind in ("constant", "zeros"):
            return torch.zeros(shape, dtype=torch.int64, device=self.device)
        return torch.randint(below, shape, device=self.device)

    def mask(self, *shape: int, share: float = 0.5) -> Tensor:
        """Return booleans with this share of True."""
        if self.kind in ("constant", "zeros"):
            return torch.full(shape, self.kind == "constant", device=self.device)
        return torch.rand(shape, device=self.device) < share
