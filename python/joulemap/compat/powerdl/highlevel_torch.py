"""`profile_torch`: trainings and inferences of PyTorch models."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, NamedTuple

from joulemap import _arguments
from joulemap._model_inputs import loss_of, move, split
from joulemap.compat.powerdl.profile import Profile
from joulemap.compat.powerdl.settings import TorchRunConfig
from joulemap.compat.powerdl.torch_input import (
    InputSpec,
    count_samples,
    device_of,
    find_input,
    spec_of,
)

if TYPE_CHECKING:
    import torch
    from torch import nn

LOSSES_AT_ONCE = 1024
WARMUP_BATCHES = 3


class _Losses:
    """Losses of an epoch, kept on the device: reading each one would wait for its batch."""

    def __init__(self) -> None:
        self._newest: list[torch.Tensor] = []
        self._packed: list[torch.Tensor] = []

    def add(self, loss: torch.Tensor) -> None:
        self._newest.append(loss.detach().mean().float())
        if len(self._newest) == LOSSES_AT_ONCE:
            self._pack()

    def _pack(self) -> None:
        import torch

        if self._newest:
            self._packed.append(torch.stack(self._newest))
        self._newest = []

    def read(self) -> list[float]:
        """Return all losses; this waits for the last batch."""
        self._pack()
        return [loss for pack in self._packed for loss in pack.tolist()]


class _Precision:
    """Mixed precision on a CUDA GPU; none elsewhere."""

    def __init__(self, device: torch.device, enabled: bool) -> None:
        import torch

        self._type: torch.dtype | None = None
        self._scaler: Any = None
        if enabled and device.type == "cuda":
            self._type = torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16
            if self._type is torch.float16:
                self._scaler = torch.amp.GradScaler("cuda")

    def scope(self) -> AbstractContextManager[Any]:
        import torch

        return nullcontext() if self._type is None else torch.autocast("cuda", dtype=self._type)

    def step(self, loss: torch.Tensor, optimizer: torch.optim.Optimizer) -> None:
        """Do backward and the optimizer's step."""
        if self._scaler is None:
            loss.backward()
            optimizer.step()
            return
        self._scaler.scale(loss).backward()
        self._scaler.step(optimizer)
        self._scaler.update()


class TorchProfile(Profile):
    """A profile of PyTorch models; `profile_torch` makes it, a `with` block begins it."""

    def __init__(self, settings: TorchRunConfig) -> None:
        super().__init__(settings)
        self._seen: dict[int, InputSpec] = {}  # by the model's id

    def train(
        self,
        model: nn.Module,
        trainloader: Iterable[Any],
        optimizer: torch.optim.Optimizer,
        loss_fn: Callable[[Any, Any], torch.Tensor] | None,
        epochs: int = 1,
    ) -> None:
        """Train a model, and measure it; calls add up.

        Parameters
        ----------
        model : torch.nn.Module
            The model; it is moved to the GPU if it is on the CPU and there is a GPU.
        trainloader : iterable
            Batches: (inputs, labels), (input, ..., labels), or a dict with `labels`.
        optimizer : torch.optim.Optimizer
            Optimizer of the model's parameters.
        loss_fn : callable, optional
            Loss of output and labels; None: the model's output has a `loss`.
        epochs : int
            Number of passes over the data.

        Raises
        ------
        RuntimeError
            Outside `with`.
        """
        progress = self.progress("train")
        epochs = _arguments.whole("epochs", epochs)
        device = device_of(model, self.settings.device_index)
        precision = _Precision(device, self.settings.amp)
        was_training = model.training
        model.train()
        progress.begin_train()
        try:
            for epoch in range(epochs):
                progress.begin_epoch(epoch)
                losses = _Losses()
                for batch in trainloader:
                    progress.begin_batch(count_samples(batch))
                    self._record_spec(model, batch)
                    optimizer.zero_grad(set_to_none=True)
                    with precision.scope():
                        loss = loss_of(model, move(batch, device), loss_fn)
                    precision.step(loss, optimizer)
                    losses.add(loss)
                    progress.end_batch()
                values = losses.read()
                progress.set_losses(values)
                progress.end_epoch()
                self._print(f"epoch {epoch}: {len(values)} batches, mean loss {sum(values) / max(1, len(values)):.4g}")
        finally:
            progress.end_train()
            model.train(was_training)

    train_epochs = train

    def _record_spec(self, model: nn.Module, batch: Any) -> None:
        """Keep the input spec of the first batch, for an inference."""
        if id(model) not in self._seen:
            spec = spec_of(batch)
            if spec is not None:
                self._seen[id(model)] = spec

    def infer_tensor(
        self,
        model: nn.Module,
        batch_size: int = 256,
        n_samples: int = 20000,
        *,
        input_shape: Sequence[int] | None = None,
        data: Any = None,
    ) -> dict[str, float]:
        """Measure inference, after a warm-up of some batches.

        Parameters
        ----------
        model : torch.nn.Module
            The model; it is moved to the GPU if it is on the CPU and there is a GPU.
        batch_size, n_samples : int
            Samples of a batch, and in total; the last batch may be smaller.
        input_shape : sequence of int, optional
            Shape of one sample, filled with random numbers. The default is the shape of the training data in this
            profile, else an attribute of the model, else a shape that its first layer accepts.
        data : tensor or iterable, optional
            A tensor of samples, or batches as for `train`, instead of random numbers; at most `n_samples` are used.

        Returns
        -------
        dict
            `infer_energy_j`, `infer_time_s`, `infer_avg_power_w`, `infer_j_per_sample`, `infer_throughput_img_s`,
            `infer_avg_gpu_util`, `infer_avg_mem_util`; NaN if not measured.

        Raises
        ------
        RuntimeError
            Outside `with`.
        ValueError
            If no input is found that the model accepts.
        """
        import torch

        progress = self.progress("infer_tensor")
        batch_size = max(1, _arguments.whole("batch_size", batch_size))
        n_samples = _arguments.whole("n_samples", n_samples)
        if n_samples == 0:
            raise ValueError("n_samples is 0: there is nothing to measure")
        device = device_of(model, self.settings.device_index)
        precision = _Precision(device, self.settings.amp)
        was_training = model.training
        model.eval()
        try:
            with torch.inference_mode(), precision.scope():
                batches = self._batches(model, device, batch_size, n_samples, input_shape, data)
                first = list(islice(batches, WARMUP_BATCHES))
                with progress.warm_up():
                    for batch in first:
                        model(*batch.inputs, **batch.named)
                with progress.inference() as inference:
                    for batch in chain(first, batches):
                        with progress.infer_batch():
                            model(*batch.inputs, **batch.named)
                        inference.samples += batch.samples
        finally:
            model.train(was_training)
        return self._inferred()

    infer = infer_tensor

    def _batches(
        self,
        model: nn.Module,
        device: torch.device,
        batch_size: int,
        n_samples: int,
        input_shape: Sequence[int] | None,
        data: Any,
    ) -> Iterator[_Call]:
        """Return the calls of an inference."""
        import torch

        if data is None:
            spec = self._seen.get(id(model)) if input_shape is None else InputSpec(tuple(input_shape))
            return _random_calls(spec or find_input(model, device), device, batch_size, n_samples)
        if isinstance(data, torch.Tensor):
            data = ((part,) for part in data.split(batch_size))
        return _calls_of(data, device, n_samples)


class _Call(NamedTuple):
    """Arguments of a model by position and by name, and the number of samples."""

    inputs: tuple[Any, ...]
    named: dict[str, Any]
    samples: int


def _random_calls(spec: InputSpec, device: torch.device, batch_size: int, n_samples: int) -> Iterator[_Call]:
    """Yield calls with `n_samples` samples in total, which are parts of one batch."""
    full = spec.make(min(batch_size, n_samples), device)
    for done in range(0, n_samples, batch_size):
        part = full[: n_samples - done]
        yield _Call((part,), {}, part.shape[0])


def _calls_of(data: Iterable[Any], device: torch.device, n_samples: int) -> Iterator[_Call]:
    """Yield calls of batches until there are `n_samples`, the last one cut."""
    left = n_samples
    for given in data:
        size = min(left, count_samples(given))
        left -= size
        inputs, named, labels = split(move(_cut(given, size), device))
        yield _Call(inputs, {name: value for name, value in named.items() if value is not labels}, size)
        if left == 0:
            return


def _cut(value: Any, samples: int) -> Any:
    import torch

    if isinstance(value, torch.Tensor):
        return value[:samples]
    if isinstance(value, Mapping):
        return {name: _cut(part, samples) for name, part in value.items()}
    return [_cut(part, samples) for part in value] if isinstance(value, list | tuple) else value


def profile_torch(
    out_dir: str | os.PathLike[str] | None = None,
    device_index: int = 0,
    interval_s: float = 0.02,
    amp: bool = True,
    verbose: int = 0,
    collect_util: bool = True,
    max_samples: int | None = None,
    max_memory_mb: float | None = None,
    warn_at_pct: float = 0.8,
    approx_bytes_per_sample: int = 1024,
    auto_flush_dir: str | os.PathLike[str] | None = None,
    auto_flush_prefix: str = "powerdl",
    auto_flush_keep_marks: bool = True,
) -> TorchProfile:
    """Return a profile of PyTorch models, for `with`; `TorchRunConfig` documents the arguments."""
    return TorchProfile(
        TorchRunConfig(
            out_dir,
            device_index,
            interval_s,
            amp,
            verbose,
            collect_util,
            max_samples,
            max_memory_mb,
            warn_at_pct,
            approx_bytes_per_sample,
            auto_flush_dir,
            auto_flush_prefix,
            auto_flush_keep_marks,
        )
    )
