"""Linear layers with products of 8-bit integers. Weights have a scale per output, inputs one per row and call."""

from __future__ import annotations

import torch
from torch import Tensor, nn

_ALIGNED = 8  # CUDA's integer product needs multiples of this for both inner sizes
_LEAST_ROWS = 32  # it needs more than 16
_MOST = 127


def _round_up(size: int) -> int:
    return -(-size // _ALIGNED) * _ALIGNED


class Int8Linear(nn.Module):
    """A Linear with 8-bit weights (symmetric, a scale per output) and 8-bit products.

    Parameters
    ----------
    linear : torch.nn.Linear
        The source of the weights.
    """

    weight: Tensor
    scale: Tensor
    bias: Tensor | None

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.in_features, self.out_features = linear.in_features, linear.out_features
        exact = linear.weight.detach().float()
        scale = exact.abs().amax(dim=1).clamp_min(1e-12) / _MOST
        shape = (_round_up(self.out_features), _round_up(self.in_features))
        quantized = torch.zeros(shape, dtype=torch.int8, device=exact.device)
        quantized[: self.out_features, : self.in_features] = (exact / scale[:, None]).round().to(torch.int8)
        self.register_buffer("weight", quantized)
        self.register_buffer("scale", scale)
        self.register_buffer("bias", None if linear.bias is None else linear.bias.detach().float())

    def forward(self, x: Tensor) -> Tensor:
        """Return x W^T + b."""
        rows = x.reshape(-1, self.in_features)
        scale = rows.abs().amax(dim=1, keepdim=True).float().clamp_min(1e-12) / _MOST
        quantized = (rows / scale).round().to(torch.int8)
        more_rows = max(0, _LEAST_ROWS - len(rows))
        more_columns = self.weight.shape[1] - self.in_features
        if more_rows or more_columns:
            quantized = nn.functional.pad(quantized, (0, more_columns, 0, more_rows))
        product = torch._int_mm(quantized, self.weight.t())[: len(rows), : self.out_features]
        out = product * scale * self.scale
        if self.bias is not None:
            out = out + self.bias
        return out.to(x.dtype).reshape(*x.shape[:-1], self.out_features)

    def extra_repr(self) -> str:
        """Return the sizes."""
        return f"{self.in_features}, {self.out_features}, bias={self.bias is not None}"


def to_int8(model: nn.Module) -> int:
    """Replace the Linear layers of a model; return their number.

    Those inside of TransformerEncoderLayer and MultiheadAttention stay, as PyTorch reads their weights directly.
    """
    replaced = 0
    for name, child in list(model.named_children()):
        if type(child) is nn.Linear:
            setattr(model, name, Int8Linear(child))
            replaced += 1
        elif not isinstance(child, nn.TransformerEncoderLayer | nn.MultiheadAttention):
            replaced += to_int8(child)
    return replaced
