"""The work that is measured at each cap: steps of a model over its loader, or calls of a function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Protocol

from joulemap._model_inputs import loss_of, move, split

if TYPE_CHECKING:
    import torch
    from torch import nn


class Work(Protocol):
    """The repeated work.

    Attributes
    ----------
    device : torch.device or None
        The device that it runs on, if known.
    """

    device: torch.device | None

    def preserved(self) -> AbstractContextManager[None]:
        """Return a context that restores all state at its end."""

    def begin(self) -> None:
        """Prepare to run the same steps again."""

    def step(self) -> None:
        """Do one step."""


class Calls:
    """Calls of a function; its changes are not undone."""

    device: torch.device | None = None

    def __init__(self, function: Callable[[], object]) -> None:
        self._function = function

    def preserved(self) -> AbstractContextManager[None]:
        """Return an empty context."""
        return nullcontext()

    def begin(self) -> None:
        """Do nothing."""

    def step(self) -> None:
        """Call the function."""
        self._function()


def device_of(model: nn.Module) -> torch.device:
    """Return the device of a model.

    Raises
    ------
    ValueError
        If it is on several GPUs.
    """
    import torch

    gpus = {tensor.device for tensor in [*model.parameters(), *model.buffers()] if tensor.device.type != "cpu"}
    if len(gpus) > 1:
        raise ValueError(
            f"the model lies on {', '.join(sorted(map(str, gpus)))}: a search is of one GPU; give a function that does "
            "a step, and gpu="
        )
    return next(iter(gpus), torch.device("cpu"))


class ModelSteps:
    """Steps of a model, each time with the same batches from the first on, and the same random numbers."""

    device: torch.device | None

    def __init__(self, model: nn.Module, loader: Iterable[Any], train: bool, loss_fn: Any, optimizer: Any) -> None:
        from joulemap._isolation.model_state import random_states
        from joulemap.caps.training_state import of_loader

        if isinstance(loader, Iterator):
            raise ValueError(
                "loader is an iterator: what a test takes from it would be gone. Give what it is made of: a "
                "DataLoader, or a list of batches"
            )
        if train and optimizer is None:
            raise ValueError("train=True needs the optimizer: its steps are part of the work, and are put back")
        self._model, self._loader, self._train = model, loader, train
        self._loss_fn, self._optimizer = loss_fn, optimizer
        self.device = device_of(model)
        self._states = random_states()
        self._order = of_loader(loader)
        self._batches: Iterator[Any] = iter(())
        self._next: Any = None

    def preserved(self) -> AbstractContextManager[None]:
        """Return a context that restores model, optimizer, loader and random states at its end."""
        from joulemap.caps.training_state import preserved_training

        return preserved_training(self._model, self._loader, self._loss_fn, self._optimizer)

    def begin(self) -> None:
        """Restart the loader, and fetch its first batch."""
        from joulemap._isolation.model_state import set_random_states

        set_random_states(self._states)
        self._order.restore()
        if getattr(self._loader, "_iterator", None) is not None:  # persistent workers, which may be inside of an epoch
            self._loader._iterator = None  # type: ignore[attr-defined]
        self._model.train(self._train)
        self._batches = iter(self._loader)
        self._next = self._fetch()

    def _fetch(self) -> Any:
        """Return the next batch; after the last, the first.

        Raises
        ------
        ValueError
            If the loader is empty.
        """
        for _ in range(2):
            for batch in self._batches:
                return batch
            self._batches = iter(self._loader)
        raise ValueError("loader has no batch: there is nothing to measure")

    def step(self) -> None:
        """Do a step of training, or a forward pass without gradients."""
        import torch

        batch = self._fetch() if self._next is None else self._next
        self._next = None
        batch = move(batch, self.device or torch.device("cpu"))
        if not self._train:
            with torch.no_grad():
                self._forward(batch)
            return
        self._optimizer.zero_grad(set_to_none=True)
        loss = loss_of(self._model, batch, self._loss_fn)
        loss.backward()
        self._optimizer.step()

    def _forward(self, batch: Any) -> None:
        inputs, named, labels = split(batch)
        if named:
            named = {name: value for name, value in named.items() if value is not labels}
        elif labels is not None and len(inputs) < _required(self._model):
            inputs = (*inputs, labels)  # a pair of inputs, without a label
        self._model(*inputs, **named)


def _required(model: nn.Module) -> int:
    """Return the number of required positional arguments of a model."""
    try:
        parameters = inspect.signature(model.forward).parameters.values()
    except (TypeError, ValueError):
        return 1
    plain = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(one.kind in plain and one.default is inspect.Parameter.empty for one in parameters)
