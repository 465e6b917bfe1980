"""Inputs of PyTorch models: batches taken apart, and what a model takes where nobody says it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import torch
    from torch import nn

LABELS = ("labels", "label", "target", "targets", "y")
"""Keys of a batch's labels, the first found."""

IMAGE_SIZES = (32, 224, 28, 64, 96, 128, 256, 299, 384, 512)
"""Sides that a model of images is tried with: the small ones first, since most models that take them take any."""

LENGTHS = (128, 32, 64, 256, 512, 1024, 4096, 16000)
"""Lengths of sequences, likewise."""


class InputSpec(NamedTuple):
    """One sample of a model's input: its shape, and of whole numbers what they are below."""

    shape: tuple[int, ...]
    high: int | None = None

    def make(self, samples: int, like: torch.device) -> torch.Tensor:
        """Return a batch of random samples."""
        import torch

        if self.high is None:
            return torch.randn(samples, *self.shape, device=like)
        return torch.randint(self.high, (samples, *self.shape), device=like)


def device_of(model: nn.Module, device_index: int) -> torch.device:
    """Return where a model's inputs go; a model that lies on the CPU is moved to the GPU where there is one."""
    import torch

    places = {tensor.device for tensor in [*model.parameters(), *model.buffers()]}
    if places <= {torch.device("cpu")} and torch.cuda.is_available():
        gpu = torch.device("cuda", device_index)
        model.to(gpu)
        return gpu
    first = next(model.parameters(), None)
    return torch.device("cpu") if first is None else first.device


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


def count_samples(batch: Any) -> int:
    """Return how many samples a batch has: the first length of its first tensor.

    Raises
    ------
    TypeError
        If there is no tensor in it.
    """
    for tensor in tensors(batch):
        return tensor.shape[0] if tensor.dim() > 0 else 1
    raise TypeError(f"a batch is a tensor, or tensors in a tuple, list or dict, not {type(batch).__name__}")


def split(batch: Any) -> tuple[tuple[Any, ...], dict[str, Any], Any]:
    """Return a batch's positional inputs, those by name, and its labels (None: it has none)."""
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
    """Return the loss of a batch: by `loss_fn`, or without it the one that the model itself tells."""
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


def spec_of(batch: Any) -> InputSpec | None:
    """Return what a batch tells of its model's input; None if it takes more than one tensor."""
    inputs, named, _ = split(batch)
    first = next(tensors(inputs), None)
    if named or len(inputs) != 1 or first is None or first.dim() == 0:
        return None
    whole = not (first.is_floating_point() or first.is_complex())
    return InputSpec(tuple(first.shape[1:]), int(first.max()) + 1 if whole and first.numel() > 0 else None)


def _told(model: nn.Module) -> InputSpec | None:
    """Return what a model says of its input: Lightning's example, or an attribute `input_shape` or `input_size`."""
    example = getattr(model, "example_input_array", None)
    if example is not None:
        return spec_of(example)
    for name in ("input_shape", "input_size"):
        shape = getattr(model, name, None)
        if isinstance(shape, list | tuple) and all(isinstance(size, int) for size in shape):
            return InputSpec(tuple(shape))
    return None


def _candidates(model: nn.Module) -> Iterator[InputSpec]:
    """Yield what the first layer that has an opinion may take."""
    from torch import nn

    for layer in model.modules():
        if isinstance(layer, nn.Embedding):
            yield from (InputSpec((length,), layer.num_embeddings) for length in (*LENGTHS, 1))
        elif isinstance(layer, nn.Linear):
            yield InputSpec((layer.in_features,))
            yield from (InputSpec((length, layer.in_features)) for length in LENGTHS)
            for channels in (3, 1):  # images that are made flat first
                side = round((layer.in_features / channels) ** 0.5)
                if channels * side * side == layer.in_features:
                    yield InputSpec((channels, side, side))
        elif isinstance(layer, nn.Conv1d):
            yield from (InputSpec((layer.in_channels, length)) for length in LENGTHS)
        elif isinstance(layer, nn.Conv2d):
            yield from (InputSpec((layer.in_channels, side, side)) for side in IMAGE_SIZES)
        elif isinstance(layer, nn.Conv3d):
            yield from (InputSpec((layer.in_channels, 16, side, side)) for side in IMAGE_SIZES[:3])
        elif isinstance(layer, nn.RNNBase):
            yield from (InputSpec((length, layer.input_size)) for length in LENGTHS)
        elif isinstance(layer, nn.TransformerEncoderLayer):
            yield from (InputSpec((length, layer.self_attn.embed_dim)) for length in LENGTHS)
        else:
            continue
        return


def find_input(model: nn.Module, device: torch.device) -> InputSpec:
    """Return an input that a model takes; it is tried with two samples.

    Raises
    ------
    ValueError
        If none is found.
    """
    import torch

    told = _told(model)
    if told is not None:
        return told
    for spec in _candidates(model):
        try:
            with torch.no_grad():
                model(spec.make(2, device))
        except (RuntimeError, ValueError, TypeError, IndexError, AssertionError):
            continue
        return spec
    raise ValueError(
        f"no input was found that {type(model).__name__} takes: give input_shape, that of one sample, "
        "as input_shape=(3, 224, 224), or data"
    )
