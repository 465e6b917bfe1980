"""Prefill and decode of Hugging Face's `generate`: a phase each, with their forward passes and tokens.

While a model is watched, `generate` of transformers' GenerationMixin is wrapped. During a call two methods of the model
are wrapped, too. All ways of generating call them before and after each forward pass (greedy, sampling, beams,
assistants, compiled or not): `prepare_inputs_for_generation` returns the inputs of a pass, and
`_update_model_kwargs_for_generation` means that the pass made a token. Passes before the first token are the prefill.
"""

from __future__ import annotations

import functools
import os
import sys
import threading
import weakref
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import nn

from joulemap import _batch_counts, _core
from joulemap._found_steps import MAX_COUNT
from joulemap._locks import Lock

_PHASE = _core.SPAN_KINDS["phase"]
_BATCH = _core.SPAN_KINDS["batch"]
_PREPARE = "prepare_inputs_for_generation"
_UPDATE = "_update_model_kwargs_for_generation"
_PROMPTS = ("inputs", "input_ids", "inputs_embeds", "input_features")


def _input_size(inputs: Any) -> tuple[int, int]:
    """Return the sequences and the tokens per sequence of a pass's inputs; 0, 0 if they are no plain tokens."""
    if not isinstance(inputs, Mapping):
        return 0, 0
    for name, dimensions in (("input_ids", 2), ("decoder_input_ids", 2), ("inputs_embeds", 3)):
        tensor = inputs.get(name)
        if isinstance(tensor, torch.Tensor):
            return (tensor.size(0), tensor.size(1)) if tensor.dim() == dimensions else (0, 0)
    return 0, 0


def _prompts(args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
    """Return the number of prompts of a call of `generate`; 0 if unknown."""
    for value in (*args[:1], *(kwargs.get(name) for name in _PROMPTS)):
        if isinstance(value, torch.Tensor) and value.dim() > 1:
            return value.size(0)
    return 0


class _Call:
    """One call of `generate`, with its open phase and forward pass."""

    def __init__(self, model: Any, prompts: int, name: int) -> None:
        self._name = name  # of a pass
        self.thread = threading.get_ident()
        self.nested = 0  # calls of `generate` in this one: by an assistant model, whose work belongs to this call
        self._has_encoder = bool(getattr(getattr(model, "config", None), "is_encoder_decoder", False))
        self._length = 0  # of the sequences, when the last pass began
        self._has_token = False  # the last pass has made a token
        self._decodes = False
        self._phase = _core.Span(_PHASE, "prefill").begin()
        self._pass = _core.Span(_BATCH, self._name, 0, min(prompts, MAX_COUNT)).begin()

    def begin_pass(self, ids: Any, mask: Any, inputs: Any) -> None:
        """Begin a forward pass, given the whole sequences, their mask, and the inputs of the pass."""
        sequences, tokens = _input_size(inputs)
        length = ids.shape[1] if isinstance(ids, torch.Tensor) and ids.dim() == 2 else 0
        if self._has_token:
            if not self._decodes:
                self._decodes = True
                self.end()
                self._phase = _core.Span(_PHASE, "decode").begin()
            else:
                self._pass.end()
            self._pass = _core.Span(_BATCH, self._name).begin()
            if tokens >= length:  # no cache: the inputs are the whole sequences again
                tokens = length - self._length
            self._add(sequences * tokens)
        elif not self._has_encoder:  # an encoder has taken the prompt, and its tokens are unknown
            is_matrix = isinstance(mask, torch.Tensor) and mask.dim() == 2
            self._add(_batch_counts.padded(sequences * tokens, mask[:, -tokens:] if is_matrix and tokens > 0 else None))
        self._length, self._has_token = length, False

    def add_token(self) -> None:
        """Note that the pass has made a token per sequence."""
        self._has_token = True

    def _add(self, tokens: int) -> None:
        self._pass.tokens = min(self._pass.tokens + max(tokens, 0), MAX_COUNT)

    def end(self) -> None:
        """Close the pass and the phase."""
        self._pass.end()
        self._phase.end()


class _Following:
    """The wrapped `generate`, and its running call: one at a time, because phases belong to the whole process."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._watches: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()  # by model
        self._patched: tuple[Any, Any, Any] | None = None
        self._busy = threading.Lock()  # held during a call
        self._name = 0
        self.call: _Call | None = None

    def renew(self) -> None:
        """Forget the running call in a forked child."""
        self._busy, self.call = threading.Lock(), None

    def acquire(self, models: list[Any], mixin: type) -> None:
        with self._lock:
            for model in models:
                self._watches[model] = self._watches.get(model, 0) + 1
            if self._watches and self._patched is None:
                self._name = _core.intern("forward pass of generate")
                original = vars(mixin)["generate"]
                ours = self._followed(original)
                mixin.generate = ours  # type: ignore[attr-defined]
                self._patched = (mixin, original, ours)

    def release(self, models: list[Any]) -> None:
        with self._lock:
            for model in models:
                self._watches[model] -= 1
                if self._watches[model] == 0:
                    del self._watches[model]
            if not self._watches and self._patched is not None:
                mixin, original, ours = self._patched
                if vars(mixin).get("generate") is ours:  # else another tool has wrapped it
                    mixin.generate = original
                self._patched = None

    def _followed(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def generate(model: Any, *args: Any, **kwargs: Any) -> Any:
            call = self.call
            if call is not None and call.thread == threading.get_ident():
                call.nested += 1
                try:
                    return original(model, *args, **kwargs)
                finally:
                    call.nested -= 1
            if model not in self._watches or not self._busy.acquire(blocking=False):
                return original(model, *args, **kwargs)
            busy = self._busy
            self.call = call = _Call(model, _prompts(args, kwargs), self._name)
            try:
                with _Passes(model, call):
                    return original(model, *args, **kwargs)
            finally:
                self.call = None
                call.end()
                busy.release()

        return generate


class _Passes:
    """Wraps the model's methods that run before and after each forward pass, for the time of a `with` block."""

    def __init__(self, model: Any, call: _Call) -> None:
        self._own: dict[str, Any] = vars(model)
        self._before = {name: self._own[name] for name in (_PREPARE, _UPDATE) if name in self._own}
        self._ours = {_PREPARE: self._prepare(getattr(model, _PREPARE)), _UPDATE: self._update(getattr(model, _UPDATE))}
        self._call = call

    def __enter__(self) -> None:
        self._own.update(self._ours)

    def __exit__(self, *_: object) -> None:
        for name, ours in self._ours.items():
            if self._own.get(name) is not ours:
                continue  # another tool has replaced it
            if name in self._before:
                self._own[name] = self._before[name]
            else:
                del self._own[name]

    def _is_ours(self) -> bool:
        return self._call.nested == 0 and self._call.thread == threading.get_ident()

    def _prepare(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def prepare(*args: Any, **kwargs: Any) -> Any:
            inputs = original(*args, **kwargs)
            if self._is_ours():
                ids = args[0] if args else kwargs.get("input_ids")
                self._call.begin_pass(ids, kwargs.get("attention_mask"), inputs)
            return inputs

        return prepare

    def _update(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def update(*args: Any, **kwargs: Any) -> Any:
            if self._is_ours():
                self._call.add_token()
            return original(*args, **kwargs)

        return update


_following = _Following()
os.register_at_fork(after_in_child=_following.renew)


def is_generating() -> bool:
    """Return whether a followed call of `generate` runs: its passes are steps already."""
    return _following.call is not None


class Generation:
    """Follows calls of transformers' `generate` on all modules of a model, until `remove()`."""

    def __init__(self, model: nn.Module) -> None:
        mixin: type | None = getattr(sys.modules.get("transformers.generation.utils"), "GenerationMixin", None)
        self._models: list[Any] = []
        if mixin is not None:
            self._models += (module for module in model.modules() if isinstance(module, mixin))
            _following.acquire(self._models, mixin)

    def remove(self) -> None:
        """Stop following, unless another watch does."""
        _following.release(self._models)
        self._models.clear()
