"""Hugging Face's Trainer: `Trainer(..., callbacks=[joulemap.huggingface.EnergyCallback()])`.

Importing this module wraps `Trainer.train`, `evaluate`, `predict` and `log`: callbacks see neither exceptions nor the
begin of an evaluation, and cannot add to a log before it is written.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from joulemap._energy_hooks import EnergyHooks, harmless
from joulemap._training import PREDICT, TRAIN, VALIDATE, entry_point

try:
    from transformers import Trainer as _Trainer
    from transformers import TrainerCallback as _TrainerCallback
except ImportError as error:
    raise ImportError(
        "joulemap.huggingface needs transformers and what its Trainer takes: pip install 'transformers[torch]'"
    ) from error

if TYPE_CHECKING:
    _Callback = object
else:
    _Callback = _TrainerCallback

__all__ = ["EnergyCallback"]

_RUNTIME = "_runtime"
"""Ending of a key that Trainer logs at the end of a training or an evaluation: `train_runtime`, `eval_runtime`."""


class EnergyCallback(EnergyHooks, _Callback):
    """Phases, epochs and steps of Trainer, layers of its model, and joules in its log.

    Phases are `train`, `validate` (`evaluate`, which interrupts `train`) and `predict`. A step of `train` is an
    optimizer step, as in `state.global_step`: with `gradient_accumulation_steps` it has several batches. In other
    phases a step is a batch. Samples and tokens are those of the data loaders.

    Figures are added to what Trainer logs, so `state.log_history` and `report_to` get them. With each loss:
    `energy_j_per_step`, `energy_power_w` and, if known, `energy_j_per_sample` and `energy_j_per_token`, without
    waiting, of the steps whose readings are recorded (up to some 1.5 s ago). With a wait of some 0.1 s each:
    `train_energy_j` at the end, and `eval_energy_j` and `test_energy_j` in the metrics of `evaluate` and `predict`.

    Parameters
    ----------
    path : path, optional
        Recording file, written during the training; without it the recording is in memory.
    session : Session, optional
        The session to measure in. Without it the open session, else one of its own, until `close` or the end of the
        program.
    overwrite : bool
        Replace an existing file.
    gpu : int, str or torch.device, optional
        The GPU whose joules are logged, as in `Session.report`; all GPUs without it.
    log : bool
        Write joules to the framework's own log.

    Raises
    ------
    TypeError, ValueError
        If an argument is none of these.

    Examples
    --------
    >>> energy = joulemap.huggingface.EnergyCallback()  # doctest: +SKIP
    >>> trainer = Trainer(model, settings, train_dataset=data, callbacks=[energy])  # doctest: +SKIP
    >>> trainer.train()  # doctest: +SKIP
    >>> print(energy.report(phase="train").table())  # doctest: +SKIP
    """

    @harmless
    def _on_batch(self, samples: int, tokens: int) -> None:
        """Count a batch of a loader: part of an optimizer step, or a step of an evaluation."""
        phase = self._training.phase
        if phase is not None and phase.name == TRAIN:
            self._training.count(samples, tokens)
        else:
            self._training.begin_step(samples, tokens)

    @harmless
    def _enter(self, phase: str, trainer_args: Any, model: Any) -> None:
        """Begin a phase."""
        self._training.enter(
            phase,
            [(model, None)],
            rank=trainer_args.process_index,
            processes=trainer_args.world_size,
            listen=self._on_batch,
        )

    @harmless
    def _add_to(self, logs: dict[str, Any]) -> None:
        """Add joules to a log of Trainer."""
        ending = next((key.removesuffix(_RUNTIME) for key in logs if key.endswith(_RUNTIME)), None)
        phase = self._training.phase
        if phase is None:
            return
        if ending is None and phase.name == TRAIN:
            logs.update((f"energy_{name}", value) for name, value in self._training.step_figures().items())
        if ending is not None and (ending == "train") == (phase.name == TRAIN):
            joules = self._training.energy_j(self._training.leave(phase.name))
            logs.update({} if joules is None else {f"{ending}_energy_j": joules})

    @harmless
    def on_train_begin(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:
        """Begin a training."""
        self._training.leave(TRAIN)  # Trainer found its batch size too large, and begins anew
        self._enter(TRAIN, args, model)

    @harmless
    def on_train_end(self, *_: Any, **__: Any) -> None:
        """End it."""
        self._training.leave(TRAIN)

    @harmless
    def on_epoch_begin(self, *_: Any, **__: Any) -> None:
        """Begin an epoch."""
        self._training.begin_epoch()

    @harmless
    def on_epoch_end(self, *_: Any, **__: Any) -> None:
        """End it."""
        self._training.end_epoch()

    @harmless
    def on_step_begin(self, *_: Any, **__: Any) -> None:
        """Begin an optimizer step."""
        self._training.begin_step()

    @harmless
    def on_step_end(self, *_: Any, **__: Any) -> None:
        """End it."""
        self._training.end_step()

    @harmless
    def on_prediction_step(self, *_: Any, **__: Any) -> None:
        """End a batch of an evaluation or a prediction."""
        self._training.end_step()

    @harmless
    def on_predict(self, args: Any, state: Any, control: Any, metrics: dict[str, Any], **_: Any) -> None:
        """End a prediction, and add its joules to its metrics."""
        self._add_to(metrics)


def _callback_of(trainer: Any) -> EnergyCallback | None:
    callbacks = getattr(getattr(trainer, "callback_handler", None), "callbacks", [])
    return next((callback for callback in callbacks if isinstance(callback, EnergyCallback)), None)


def _wrapped(original: Callable[..., Any], phase: str | None) -> Callable[..., Any]:
    @functools.wraps(original)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        callback = _callback_of(self)
        with nullcontext() if callback is None else entry_point():
            if callback is not None and phase is not None:
                callback._enter(phase, self.args, self.model)
            return original(self, *args, **kwargs)

    return call


def _wrapped_log(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def log(self: Any, logs: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        callback = _callback_of(self)
        if callback is not None:
            callback._add_to(logs)
        return original(self, logs, *args, **kwargs)

    return log


for _name, _phase in (("train", None), ("evaluate", VALIDATE), ("predict", PREDICT)):
    setattr(_Trainer, _name, _wrapped(getattr(_Trainer, _name), _phase))
_Trainer.log = _wrapped_log(_Trainer.log)
