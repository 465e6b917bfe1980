"""What is in the tensors of the suite: numbers alike in kind, drawn once, of which kernels take views.

Power depends on data: a matrix product of zeros draws half of what one of random numbers does. Kinds:

- random: normal, mean 0, standard deviation 1;
- trained: activations heavy-tailed, half of them zero (ReLU), six channels in a thousand twenty times larger;
  weights heavy-tailed and small (0.02);
- constant: 1 everywhere; zeros.
"""

from __future__ import annotations

import torch
from torch import Tensor

_STOCK = 64 * 2**20  # elements of each row on a whole board
_LEAST = 2**20
_CHUNK = 2**22
_COMMON = (torch.bfloat16, torch.float32)
_CHANNELS = 1024
_OUTLIERS = (17, 130, 333, 512, 700, 901)
_OUTLIER = 20.0
_ACTIVATION = "activation"
_WEIGHT = "weight"


def _trained(values: Tensor, role: str) -> Tensor:
    """Make numbers as training leaves them of normal ones, float, whose count is a multiple of the channels."""
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
    """Long rows of numbers, one a kind and dtype, that live as long as the suite.

    Parameters
    ----------
    device : torch.device
        Where they lie.
    share : float
        Of the length on an H100, 64 Mi elements.
    """

    def __init__(self, device: torch.device, share: float = 1.0) -> None:
        self.device = device
        self._length = max(1, round(_STOCK * share / _LEAST)) * _LEAST
        self._rows: dict[tuple[str, str, torch.dtype], Tensor] = {}

    def row(self, kind: str, role: str, dtype: torch.dtype) -> Tensor:
        """Return the whole row; constants, zeros and rare dtypes, of which less is taken, have shorter ones."""
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
    """What one kernel takes of the stock: tensors that do not overlap.

    Parameters
    ----------
    stock : Stock
        Whose numbers.
    kind : str
        "random", "trained", "constant" or "zeros".
    dtype : torch.dtype
        Of what is taken, if not told otherwise.
    """

    def __init__(self, stock: Stock, kind: str, dtype: torch.dtype) -> None:
        self.device = stock.device
        self.kind = kind
        self.dtype = dtype
        self._stock = stock
        self._taken: dict[int, int] = {}  # by the id of the row

    def take(self, *shape: int, dtype: torch.dtype | None = None, role: str = _ACTIVATION) -> Tensor:
        """Return a tensor that nobody may write into."""
        dtype = dtype or self.dtype
        row = self._stock.row(self.kind, role, dtype)
        count = torch.Size(shape).numel()
        begin = self._taken.get(id(row), 0)
        if begin + count > len(row):  # too long for the stock: its own, of repeated numbers
            return row.repeat(-(-count // len(row)))[:count].view(shape)
        self._taken[id(row)] = begin + -(-count // _CHANNELS) * _CHANNELS
        return row[begin : begin + count].view(shape)

    def weight(self, *shape: int, dtype: torch.dtype | None = None) -> Tensor:
        """Return a tensor of weights that nobody may write into."""
        return self.take(*shape, dtype=dtype, role=_WEIGHT)

    def own(self, *shape: int, dtype: torch.dtype | None = None, role: str = _ACTIVATION) -> Tensor:
        """Return a tensor that its kernel may write into."""
        return self.take(*shape, dtype=dtype, role=role).clone()

    def images(self, *shape: int, last: bool = True) -> Tensor:
        """Return images (batch, channels, height, width), channels last if so wanted."""
        if not last:
            return self.take(*shape)
        batch, channels, height, width = shape
        return self.take(batch, height, width, channels).permute(0, 3, 1, 2)

    def indices(self, below: int, *shape: int) -> Tensor:
        """Return random indices from 0 to below, int64; all 0 for data of one value."""
        if self.kind in ("constant", "zeros"):
            return torch.zeros(shape, dtype=torch.int64, device=self.device)
        return torch.randint(below, shape, device=self.device)

    def mask(self, *shape: int, share: float = 0.5) -> Tensor:
        """Return booleans of which this share is true."""
        if self.kind in ("constant", "zeros"):
            return torch.full(shape, self.kind == "constant", device=self.device)
        return torch.rand(shape, device=self.device) < share
