"""The inputs of a model's layers in one forward pass, and calls of a layer with them."""

from __future__ import annotations

import contextlib
import dataclasses
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from joulemap._burst import Call

_MAX_NESTING = 6  # tuples, dicts and dataclasses that are searched for tensors


def map_tensors(value: Any, function: Callable[[Tensor], Any], nesting: int = _MAX_NESTING) -> Any:
    """Return `value` with each tensor in its tuples, lists and dicts replaced by the result of `function`."""
    if isinstance(value, Tensor):
        return function(value)
    if nesting == 0 or value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(map_tensors(item, function, nesting - 1) for item in value))
    if isinstance(value, tuple | list):
        return type(value)(map_tensors(item, function, nesting - 1) for item in value)
    if type(value) is dict:
        return {key: map_tensors(item, function, nesting - 1) for key, item in value.items()}
    return value


def tensors_of(value: Any, nesting: int = _MAX_NESTING) -> Iterator[Tensor]:
    """Yield the tensors in tuples, lists, mappings and dataclasses."""
    if isinstance(value, Tensor):
        yield value
    elif nesting == 0 or value is None or isinstance(value, str | int | float):
        return
    elif isinstance(value, tuple | list):
        for item in value:
            yield from tensors_of(item, nesting - 1)
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from tensors_of(item, nesting - 1)
    elif dataclasses.is_dataclass(value):
        for part in dataclasses.fields(value):
            yield from tensors_of(getattr(value, part.name, None), nesting - 1)


def copy_of(tensor: Tensor) -> Tensor:
    """Return a copy with the same layout, a leaf that requires a gradient if the tensor does."""
    if isinstance(tensor, nn.Parameter):
        return tensor  # a weight passed as an argument: the model's own
    plain = tensor.detach()
    if plain.layout == torch.strided and not plain.is_contiguous() and not plain.is_quantized and plain.numel() > 0:
        span = 1 + sum((size - 1) * stride for size, stride in zip(plain.shape, plain.stride(), strict=True))
        row = plain.as_strided((span,), (1,), plain.storage_offset()).clone()
        plain = row.as_strided(plain.shape, plain.stride())
    else:
        plain = plain.clone()
    return plain.requires_grad_(tensor.requires_grad)


def _version(tensor: Tensor) -> int | None:
    """Return the version of a tensor, which grows with each write; None for tensors of inference mode."""
    return None if tensor.is_inference() else tensor._version


class _Copies:
    """Copies of tensors, one per tensor and version: a container and its first child share their inputs."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[weakref.ref[Tensor], int | None, Tensor]] = {}

    def __call__(self, tensor: Tensor) -> Tensor:
        version = _version(tensor)
        original, copied_version, copy = self._known.get(id(tensor), (None, 0, tensor))
        if version is None or original is None or original() is not tensor or copied_version != version:
            copy = copy_of(tensor)
            self._known[id(tensor)] = (weakref.ref(tensor), version, copy)
        return copy


class _NonLeaf(torch.autograd.Function):
    """Identity: makes a leaf look like the output of another layer, which a layer may overwrite."""

    @staticmethod
    def forward(_ctx: Any, values: Tensor) -> Tensor:
        return values.detach()

    @staticmethod
    def backward(_ctx: Any, *gradients: Any) -> Any:
        return gradients[0]


@dataclass(frozen=True)
class Modes:
    """The modes of a call: gradients, inference, autocast."""

    gradients: bool
    inference: bool
    autocast: bool
    device_type: str
    dtype: torch.dtype

    @classmethod
    def now(cls, device_type: str) -> Modes:
        """Return the present modes of this thread."""
        if hasattr(torch, "get_autocast_dtype"):
            autocast, dtype = torch.is_autocast_enabled(device_type), torch.get_autocast_dtype(device_type)
        elif device_type == "cuda":  # before PyTorch 2.4
            autocast, dtype = torch.is_autocast_enabled(), torch.get_autocast_gpu_dtype()
        else:
            autocast, dtype = torch.is_autocast_cpu_enabled(), torch.get_autocast_cpu_dtype()
        return cls(torch.is_grad_enabled(), torch.is_inference_mode_enabled(), autocast, device_type, dtype)

    @contextlib.contextmanager
    def again(self) -> Iterator[None]:
        """Set these modes. Without autocast's cache, so that each call casts its weights, as in training."""
        with contextlib.ExitStack() as stack:
            if self.inference:
                stack.enter_context(torch.inference_mode())
            stack.enter_context(torch.set_grad_enabled(self.gradients and not self.inference))
            stack.enter_context(
                torch.autocast(self.device_type, dtype=self.dtype, enabled=self.autocast, cache_enabled=False)
            )
            yield


@dataclass
class LayerInputs:
    """The inputs of a layer in its first call of a pass.

    Attributes
    ----------
    path, module : str, Module
        The layer.
    calls : int
        Number of its calls in the pass.
    """

    path: str
    module: nn.Module
    calls: int = 0
    _args: tuple[Any, ...] = ()
    _kwargs: dict[str, Any] = field(default_factory=dict)
    _modes: Modes | None = None
    _gradients: dict[int, Tensor] = field(default_factory=dict)  # by number of the output tensor
    _written: list[tuple[Tensor, Tensor]] = field(default_factory=list)  # an overwritten input, and its copy

    @property
    def overwrites(self) -> bool:
        """Whether the layer overwrites its inputs; known after `try_out`."""
        return bool(self._written)

    def record(self, args: tuple[Any, ...], kwargs: dict[str, Any], copies: _Copies, device_type: str) -> None:
        """Count a call, and copy the inputs of the first one."""
        self.calls += 1
        if self.calls == 1:
            self._args, self._kwargs = map_tensors(args, copies), map_tensors(kwargs, copies)
            self._modes = Modes.now(device_type)

    def record_gradients(self, output: Any) -> None:
        """Record the gradients of the first call's output, once the backward pass computes them."""
        if self.calls == 1:
            for number, tensor in enumerate(tensors_of(output)):
                if tensor.requires_grad:
                    tensor.register_hook(lambda gradient, number=number: self._record_gradient(number, gradient))

    def _record_gradient(self, number: int, gradient: Tensor) -> None:
        self._gradients[number] = gradient.detach().clone()

    def try_out(self) -> None:
        """Call the layer once, to learn which inputs it overwrites; they are restored before each call."""
        inputs = list({id(tensor): tensor for tensor in tensors_of((self._args, self._kwargs))}.values())
        inputs = [tensor for tensor in inputs if not isinstance(tensor, nn.Parameter)]
        before = [(tensor, _version(tensor), tensor.detach().clone()) for tensor in inputs]
        self.forward()
        for tensor, version, copy in before:
            if not torch.equal(tensor, copy) if version is None else _version(tensor) != version:
                self._written.append((tensor, copy))
        self.restore_inputs()

    def restore_inputs(self) -> None:
        """Restore the overwritten inputs."""
        assert self._modes is not None
        with torch.inference_mode() if self._modes.inference else torch.no_grad():
            for tensor, copy in self._written:
                tensor.copy_(copy)

    def forward(self) -> Any:
        """Call the layer as the pass did; return its output."""
        assert self._modes is not None
        if self._written:
            self.restore_inputs()
        with self._modes.again():
            identity = _NonLeaf.apply if torch.is_grad_enabled() else torch.Tensor.detach
            args, kwargs = (
                map_tensors(value, lambda t: identity(t) if t.requires_grad and not isinstance(t, nn.Parameter) else t)
                for value in (self._args, self._kwargs)
            )
            return self.module(*args, **kwargs)

    def forward_backward(self, backward_context: contextlib.AbstractContextManager[Any]) -> Call:
        """Return a call of forward and backward, with gradients of inputs and weights.

        Parameters
        ----------
        backward_context : context manager
            The context in which backward runs.

        Raises
        ------
        RuntimeError
            If no output requires a gradient.
        """
        leaves = [tensor for tensor in tensors_of((self._args, self._kwargs)) if tensor.requires_grad]
        leaves = list({id(t): t for t in [*leaves, *(w for w in self.module.parameters() if w.requires_grad)]}.values())
        outputs = [(i, tensor) for i, tensor in enumerate(tensors_of(self.forward())) if tensor.requires_grad]
        if not leaves or not outputs:
            raise RuntimeError("nothing in its output needs a gradient")
        for i, tensor in outputs:
            if i not in self._gradients:
                self._gradients[i] = torch.randn_like(tensor) / tensor.numel() ** 0.5

        def call() -> object:
            outputs = [(t, self._gradients[i]) for i, t in enumerate(tensors_of(self.forward())) if t.requires_grad]
            with backward_context:
                return torch.autograd.grad([t for t, _ in outputs], leaves, [g for _, g in outputs], allow_unused=True)

        return call


def record_inputs(
    model: nn.Module, layers: Sequence[str], forward: Callable[[], Any], device_type: str, *, backward: bool
) -> dict[str, LayerInputs]:
    """Run one forward pass (with `backward` also its backward) and return the inputs of each layer, by path."""
    copies = _Copies()
    recorded = {path: LayerInputs(path, model.get_submodule(path)) for path in layers}
    handles = []
    for layer in recorded.values():

        def before(_: nn.Module, args: Any, kwargs: Any, layer: LayerInputs = layer) -> None:
            layer.record(args, kwargs, copies, device_type)

        def after(_: nn.Module, _args: Any, output: Any, layer: LayerInputs = layer) -> None:
            layer.record_gradients(output)

        handles.append(layer.module.register_forward_pre_hook(before, with_kwargs=True))
        if backward:
            handles.append(layer.module.register_forward_hook(after))
    try:
        output = forward()
        if backward:
            _differentiate(model, output)
    finally:
        for handle in handles:
            handle.remove()
    return recorded


def _differentiate(model: nn.Module, output: Any) -> None:
    """Run a backward pass from a loss, or from the outputs with random gradients; weights get no gradients."""
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    outputs = [tensor for tensor in tensors_of(output) if tensor.requires_grad]
    losses = [tensor for tensor in outputs if tensor.numel() == 1]
    if not weights or not outputs:
        return
    outputs = losses[:1] or outputs
    gradients = [torch.ones_like(t) if t.numel() == 1 else torch.randn_like(t) / t.numel() ** 0.5 for t in outputs]
    torch.autograd.grad(outputs, weights, gradients, allow_unused=True)
