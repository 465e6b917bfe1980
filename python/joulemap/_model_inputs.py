"""Split batches of PyTorch models into inputs by position and by name, labels, and the loss."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

LABELS = ("labels", "label", "target", "targets", "y")
"""Keys of labels in a batch; the first one found counts."""


def move(value: Any, device: torch.device) -> Any:
    """Return a batch, or a part of one, with its tensors on a device."""
    import torch

    if isinstance(value, torch.Tensor):
        return value.to(device, non_blocking=True)
    if isinstance(value, Mapping):
        return {name: move(part, device) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return (
            type(value)(*(move(part, device) for part in value))
            if hasattr(value, "_fields")
            else [move(part, device) for part in value]
        )
    return value


def tensors(value: Any) -> Iterator[torch.Tensor]:
    """Yield the tensors of a batch."""
    import torch

    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from tensors(part)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for part in value:
            yield from tensors(part)


def split(batch: Any) -> tuple[tuple[Any, ...], dict[str, Any], Any]:
    """Return a batch's positional inputs, its inputs by name, and its labels (None: no labels)."""
    if isinstance(batch, Mapping):
        named = dict(batch)
        key = next((key for key in LABELS if key in named), None)
        return (), named, None if key is None else named[key]
    if isinstance(batch, list | tuple) and len(batch) > 1:
        *inputs, labels = batch
        if len(inputs) == 1 and isinstance(inputs[0], Mapping):
            return (), dict(inputs[0]), labels
        if len(inputs) == 1 and isinstance(inputs[0], list | tuple):
            return tuple(inputs[0]), {}, labels
        return tuple(inputs), {}, labels
    return (batch[0] if isinstance(batch, list | tuple) else batch,), {}, None


def loss_of(model: Callable[..., Any], batch: Any, loss_fn: Callable[[Any, Any], torch.Tensor] | None) -> torch.Tensor:
    """Return the loss of a batch by `loss_fn`, or without it the `loss` of the model's output."""
    inputs, named, labels = split(batch)
    if loss_fn is not None and labels is not None:
        named = {key: value for key, value in named.items() if value is not labels}
    output = model(*inputs, **named)
    if loss_fn is None:
        loss = output.get("loss") if isinstance(output, Mapping) else getattr(output, "loss", None)
        if loss is None:
            raise TypeError("the model's output has no loss: give loss_fn")
        return loss  # type: ignore[no-any-return]
    if labels is None:
        raise TypeError(f"a batch is a pair of inputs and labels, or a dict with one of {', '.join(LABELS)}")
    logits = output.get("logits") if isinstance(output, Mapping) else getattr(output, "logits", None)
    return loss_fn(output if logits is None else logits, labels)
