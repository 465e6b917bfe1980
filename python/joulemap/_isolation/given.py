"""What the layers of a model are given in one forward pass, and calls of a layer with it."""

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

_MAX_NESTING = 6  # of tuples, dicts and dataclasses around a layer's tensors


def mapped(value: Any, of: Callable[[Tensor], Any], nesting: int = _MAX_NESTING) -> Any:
    """Return `value` with each tensor in its tuples, lists, mappings and dataclasses replaced."""
    if isinstance(value, Tensor):
        return of(value)
    if nesting == 0 or value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(mapped(item, of, nesting - 1) for item in value))
    if isinstance(value, tuple | list):
        return type(value)(mapped(item, of, nesting - 1) for item in value)
    if type(value) is dict:
        return {key: mapped(item, of, nesting - 1) for key, item in value.items()}
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


def copied(tensor: Tensor) -> Tensor:
    """Return the same numbers in the same layout, a leaf that wants a gradient if the tensor does."""
    if isinstance(tensor, nn.Parameter):
        return tensor  # a weight that is handed over: the model's own
    plain = tensor.detach()
    if plain.layout == torch.strided and not plain.is_contiguous() and not plain.is_quantized and plain.numel() > 0:
        span = 1 + sum((size - 1) * stride for size, stride in zip(plain.shape, plain.stride(), strict=True))
        row = plain.as_strided((span,), (1,), plain.storage_offset()).clone()
        plain = row.as_strided(plain.shape, plain.stride())
    else:
        plain = plain.clone()
    return plain.requires_grad_(tensor.requires_grad)


def _version(tensor: Tensor) -> int | None:
    """Return a number that grows with each write; None for what was made in inference mode, which has none."""
    return None if tensor.is_inference() else tensor._version


class _Copies:
    """Copies of tensors, one a tensor and version: a container and its first child are given the same."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[weakref.ref[Tensor], int | None, Tensor]] = {}

    def __call__(self, tensor: Tensor) -> Tensor:
        version = _version(tensor)
        of, its_version, copy = self._known.get(id(tensor), (None, 0, tensor))
        if version is None or of is None or of() is not tensor or its_version != version:
            copy = copied(tensor)
            self._known[id(tensor)] = (weakref.ref(tensor), version, copy)
        return copy


class _Handed(torch.autograd.Function):
    """The same numbers as what some other layer has made: no leaf, so that a layer may write into it."""

    @staticmethod
    def forward(_ctx: Any, values: Tensor) -> Tensor:
        return values.detach()

    @staticmethod
    def backward(_ctx: Any, *gradients: Any) -> Any:
        return gradients[0]


@dataclass(frozen=True)
class Modes:
    """The modes that a layer was called in: gradients, inference, autocast."""

    gradients: bool
    inference: bool
    autocast: bool
    device_type: str
    dtype: torch.dtype

    @classmethod
    def now(cls, device_type: str) -> Modes:
        """Return those of this thread."""
        if hasattr(torch, "get_autocast_dtype"):
            autocast, dtype = torch.is_autocast_enabled(device_type), torch.get_autocast_dtype(device_type)
        elif device_type == "cuda":  # before PyTorch 2.4
            autocast, dtype = torch.is_autocast_enabled(), torch.get_autocast_gpu_dtype()
        else:
            autocast, dtype = torch.is_autocast_cpu_enabled(), torch.get_autocast_cpu_dtype()
        return cls(torch.is_grad_enabled(), torch.is_inference_mode_enabled(), autocast, device_type, dtype)

    @contextlib.contextmanager
    def again(self) -> Iterator[None]:
        """Make them the current ones. As in training, each call casts its weights anew."""
        with contextlib.ExitStack() as stack:
            if self.inference:
                stack.enter_context(torch.inference_mode())
            stack.enter_context(torch.set_grad_enabled(self.gradients and not self.inference))
            stack.enter_context(
                torch.autocast(self.device_type, dtype=self.dtype, enabled=self.autocast, cache_enabled=False)
            )
            yield


@dataclass
class Given:
    """What a layer was given in its first call of a pass.

    Attributes
    ----------
    path, module : str, Module
        The layer.
    calls : int
        How often the pass called it.
    """

    path: str
    module: nn.Module
    calls: int = 0
    _args: tuple[Any, ...] = ()
    _kwargs: dict[str, Any] = field(default_factory=dict)
    _modes: Modes | None = None
    _gradients: dict[int, Tensor] = field(default_factory=dict)  # by number of the output tensor
    _written: list[tuple[Tensor, Tensor]] = field(default_factory=list)  # an input, and what was in it

    @property
    def overwrites(self) -> bool:
        """Whether the layer writes into what it is given; known after `try_out`."""
        return bool(self._written)

    def note(self, args: tuple[Any, ...], kwargs: dict[str, Any], copies: _Copies, device_type: str) -> None:
        """Take down a call; the first one's tensors are kept."""
        self.calls += 1
        if self.calls == 1:
            self._args, self._kwargs = mapped(args, copies), mapped(kwargs, copies)
            self._modes = Modes.now(device_type)

    def note_output(self, output: Any) -> None:
        """Wait for the gradients of the first call's output."""
        if self.calls == 1:
            for number, tensor in enumerate(tensors_of(output)):
                if tensor.requires_grad:
                    tensor.register_hook(lambda gradient, number=number: self._take_gradient(number, gradient))

    def _take_gradient(self, number: int, gradient: Tensor) -> None:
        self._gradients[number] = gradient.detach().clone()

    def try_out(self) -> None:
        """Call it once, and see which of its inputs it writes into: those are put back before each call."""
        inputs = list({id(tensor): tensor for tensor in tensors_of((self._args, self._kwargs))}.values())
        inputs = [tensor for tensor in inputs if not isinstance(tensor, nn.Parameter)]
        before = [(tensor, _version(tensor), tensor.detach().clone()) for tensor in inputs]
        self.forward()
        for tensor, version, copy in before:
            if not torch.equal(tensor, copy) if version is None else _version(tensor) != version:
                self._written.append((tensor, copy))
        self.put_back()

    def put_back(self) -> None:
        """Copy what was overwritten into the inputs."""
        assert self._modes is not None
        with torch.inference_mode() if self._modes.inference else torch.no_grad():
            for tensor, copy in self._written:
                tensor.copy_(copy)

    def forward(self) -> Any:
        """Call the layer as the pass did; return its output."""
        assert self._modes is not None
        if self._written:
            self.put_back()
        with self._modes.again():
            hand = _Handed.apply if torch.is_grad_enabled() else torch.Tensor.detach
            args, kwargs = (
                mapped(of, lambda t: hand(t) if t.requires_grad and not isinstance(t, nn.Parameter) else t)
                for of in (self._args, self._kwargs)
            )
            return self.module(*args, **kwargs)

    def both_ways(self, around: contextlib.AbstractContextManager[Any]) -> Call:
        """Return the call of forward and backward: gradients of its inputs and weights.

        Parameters
        ----------
        around : context manager
            What backward runs in.

        Raises
        ------
        RuntimeError
            If nothing in its output needs a gradient.
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
            with around:
                return torch.autograd.grad([t for t, _ in outputs], leaves, [g for _, g in outputs], allow_unused=True)

        return call


def take(
    model: nn.Module, layers: Sequence[str], forward: Callable[[], Any], device_type: str, *, backward: bool
) -> dict[str, Given]:
    """Run one forward pass (with `backward` also its gradients) and return what each layer was given, by path."""
    copies = _Copies()
    taken = {path: Given(path, model.get_submodule(path)) for path in layers}
    handles = []
    for given in taken.values():

        def before(_: nn.Module, args: Any, kwargs: Any, given: Given = given) -> None:
            given.note(args, kwargs, copies, device_type)

        def after(_: nn.Module, _args: Any, output: Any, given: Given = given) -> None:
            given.note_output(output)

        handles.append(given.module.register_forward_pre_hook(before, with_kwargs=True))
        if backward:
            handles.append(given.module.register_forward_hook(after))
    try:
        output = forward()
        if backward:
            _differentiate(model, output)
    finally:
        for handle in handles:
            handle.remove()
    return taken


def _differentiate(model: nn.Module, output: Any) -> None:
    """Let gradients pass through all layers, into nothing: of a loss, or of any output with random gradients."""
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    outputs = [tensor for tensor in tensors_of(output) if tensor.requires_grad]
    losses = [tensor for tensor in outputs if tensor.numel() == 1]
    if not weights or not outputs:
        return
    outputs = losses[:1] or outputs
    gradients = [torch.ones_like(t) if t.numel() == 1 else torch.randn_like(t) / t.numel() ** 0.5 for t in outputs]
    torch.autograd.grad(outputs, weights, gradients, allow_unused=True)
