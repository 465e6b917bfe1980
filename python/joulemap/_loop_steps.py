"""Steps of a program's own loop: where no data loader and no `generate` says where one ends.

With gradients a step lasts from the first forward pass after a step of the optimizer to the next such pass, so
gradients may be added up over several passes, and another model (a teacher) may be called in between. Without gradients
each forward pass of the first model begins one.
"""

from __future__ import annotations

import weakref
from typing import Any

import torch
from torch import nn
from torch.optim.optimizer import register_optimizer_step_post_hook

from joulemap import _batch_counts, _core
from joulemap._found_steps import found_steps
from joulemap._generation import is_generating
from joulemap._module_calls import calls

_KEY = "loop"


class LoopSteps:
    """Finds steps by outermost forward passes of watched models and by the optimizer, until `remove()`."""

    def __init__(self) -> None:
        self._training = _core.intern("step of the optimizer")
        self._inference = _core.intern("forward pass")
        self._optimizer: weakref.ref[Any] | None = None  # the one that ends steps: the first that steps
        self._stepped = True
        self._model: Any = None  # whose forward passes are steps of an inference: the first without gradients
        self._trained: Any = None  # the model that was last called with gradients
        self._first: Any = None  # the model that began the open step: its inputs are the batch
        self._embeds: weakref.WeakKeyDictionary[nn.Module, bool] = weakref.WeakKeyDictionary()
        calls.entered = self._on_forward
        self._handle = register_optimizer_step_post_hook(self._on_optimizer)

    def _on_optimizer(self, optimizer: torch.optim.Optimizer, _args: Any, _kwargs: Any) -> None:
        if self._optimizer is None or self._optimizer() is None:
            self._optimizer = weakref.ref(optimizer)
        self._stepped = self._stepped or self._optimizer() is optimizer

    def _on_forward(self, layer: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> None:
        if found_steps.has_others(_KEY) or is_generating():
            found_steps.end(_KEY)
            return
        module = layer.module()
        if module is None or not layer.watch.finds_steps:
            return
        trains = torch.is_grad_enabled() and module.training
        if trains:
            self._trained = layer
        elif self._trained is not None and self._trained.active:
            # Inside of a training step; or a teacher begins the next one, which a validation does not.
            trains = not self._stepped or layer is not self._trained
        if not trains and (self._model is None or not self._model.active):
            self._model = layer
        if not found_steps.has(_KEY) or (self._stepped if trains else layer is self._model):
            found_steps.end(_KEY)
            found_steps.begin(_KEY, self._training if trains else self._inference, 0, 0)
            self._stepped = not trains
            self._first = layer
        if layer is self._first:
            found_steps.count(_KEY, *self._count(module, args, kwargs))

    def _count(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> tuple[int, int]:
        """Return the samples and tokens of a call: a matrix of whole numbers is tokens if the model embeds any."""
        inputs = (*args, *(kwargs or {}).values())
        samples, tokens = _batch_counts.count(kwargs if kwargs and "input_ids" in kwargs else inputs)
        first = next((value for value in inputs if isinstance(value, torch.Tensor)), None)
        if tokens == 0 and first is not None and first.dim() == 2 and not first.is_floating_point():
            if module not in self._embeds:  # a walk over all modules, once a model
                self._embeds[module] = any(isinstance(each, nn.Embedding) for each in module.modules())
            tokens = first.numel() if self._embeds[module] else 0
        return samples, tokens

    def remove(self) -> None:
        """End the last step, and find no more."""
        found_steps.end(_KEY)
        calls.entered = None
        self._handle.remove()
