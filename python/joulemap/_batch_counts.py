"""How many samples and tokens a batch of a data loader has; 0 if uncertain. No GPU is ever queried."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

_MAX_NESTING = 6  # mappings, tuples and lists that are searched for tensors


def _first_tensor(value: Any, nesting: int = _MAX_NESTING) -> torch.Tensor | None:
    if isinstance(value, torch.Tensor):
        return value if value.dim() > 0 else None
    if nesting == 0:
        return None
    if isinstance(value, Mapping):
        value = value.values()
    elif not isinstance(value, tuple | list):
        return None
    for item in value:
        tensor = _first_tensor(item, nesting - 1)
        if tensor is not None:
            return tensor
    return None


def samples(batch: Any, size: int | None = None, whole: bool = False) -> int:
    """Return the samples of a batch.

    Parameters
    ----------
    batch : Any
        An item of the loader.
    size : int or None
        Batch size of the loader, or None.
    whole : bool
        Whether every batch has this size.
    """
    if size is not None and whole:
        return size
    tensor = _first_tensor(batch)
    if tensor is None:
        return 0
    count = tensor.size(0)
    return 0 if size is not None and count > size else count  # larger: the first dimension is not the batch


def padded(tokens: int, mask: Any) -> int:
    """Return `tokens` without padding, if a mask on the CPU shows the padding."""
    if isinstance(mask, torch.Tensor) and mask.device.type == "cpu" and mask.numel() == tokens:
        return int(mask.count_nonzero())
    return tokens


def tokens(batch: Any) -> int:
    """Return the tokens of a batch that has `input_ids`, without padding if its mask is on the CPU."""
    if not isinstance(batch, Mapping):
        return 0
    ids = batch.get("input_ids")
    if not isinstance(ids, torch.Tensor):
        return 0
    return padded(ids.numel(), batch.get("attention_mask"))


def count(batch: Any) -> tuple[int, int]:
    """Return the samples and tokens of any batch; never fails the program."""
    try:
        return samples(batch), tokens(batch)
    except Exception:  # a mapping or a tensor of the program's own class that misbehaves
        return 0, 0
