"""Guess the inputs of PyTorch models."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from joulemap._model_inputs import split, tensors

if TYPE_CHECKING:
    import torch
    from torch import nn

IMAGE_SIZES = (32, 224, 28, 64, 96, 128, 256, 299, 384, 512)
"""Image sizes to try; small ones first, since most models that accept them accept any size."""

LENGTHS = (128, 32, 64, 256, 512, 1024, 4096, 16000)
"""Lengths of sequences to try."""


class InputSpec(NamedTuple):
    """One sample of a model's input: its shape, and for integers their upper bound (exclusive)."""

    shape: tuple[int, ...]
    high: int | None = None

    def make(self, samples: int, like: torch.device) -> torch.Tensor:
        """Return a batch of random samples."""
        import torch

        if self.high is None:
            return torch.randn(samples, *self.shape, device=like)
        return torch.randint(self.high, (samples, *self.shape), device=like)


def device_of(model: nn.Module, device_index: int) -> torch.device:
    """Return the device of a model's inputs; a model on the CPU is moved to the GPU if there is one."""
    import torch

    devices = {tensor.device for tensor in [*model.parameters(), *model.buffers()]}
    if devices <= {torch.device("cpu")} and torch.cuda.is_available():
        gpu = torch.device("cuda", device_index)
        model.to(gpu)
        return gpu
    first = next(model.parameters(), None)
    return torch.device("cpu") if first is None else first.device


def count_samples(batch: Any) -> int:
    """Return the number of samples of a batch: the first dimension of its first tensor.

    Raises
    ------
    TypeError
        If the batch has no tensor.
    """
    for tensor in tensors(batch):
        return tensor.shape[0] if tensor.dim() > 0 else 1
    raise TypeError(f"a batch is a tensor, or tensors in a tuple, list or dict, not {type(batch).__name__}")


def spec_of(batch: Any) -> InputSpec | None:
    """Return the input spec of a batch; None if the model takes more than one tensor."""
    inputs, named, _ = split(batch)
    first = next(tensors(inputs), None)
    if named or len(inputs) != 1 or first is None or first.dim() == 0:
        return None
    whole = not (first.is_floating_point() or first.is_complex())
    return InputSpec(tuple(first.shape[1:]), int(first.max()) + 1 if whole and first.numel() > 0 else None)


def _declared_input(model: nn.Module) -> InputSpec | None:
    """Return the input that a model declares: Lightning's example, or an attribute `input_shape` or `input_size`."""
    example = getattr(model, "example_input_array", None)
    if example is not None:
        return spec_of(example)
    for name in ("input_shape", "input_size"):
        shape = getattr(model, name, None)
        if isinstance(shape, list | tuple) and all(isinstance(size, int) for size in shape):
            return InputSpec(tuple(shape))
    return None


def _candidates(model: nn.Module) -> Iterator[InputSpec]:
    """Yield inputs that the first layer of a known class may accept."""
    from torch import nn

    for layer in model.modules():
        if isinstance(layer, nn.Embedding):
            yield from (InputSpec((length,), layer.num_embeddings) for length in (*LENGTHS, 1))
        elif isinstance(layer, nn.Linear):
            yield InputSpec((layer.in_features,))
            yield from (InputSpec((length, layer.in_features)) for length in LENGTHS)
            for channels in (3, 1):  # images that are flattened first
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
    """Return an input that a model accepts; each guess is tried with two samples.

    Raises
    ------
    ValueError
        If none is found.
    """
    import torch

    declared = _declared_input(model)
    if declared is not None:
        return declared
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
