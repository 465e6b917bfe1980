"""PyTorch Lightning: `Trainer(callbacks=[joulemap.lightning.EnergyCallback()])`.

It works for `lightning` and `pytorch_lightning`: for those that the program has imported.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

from joulemap import _batch_counts
from joulemap._energy_hooks import EnergyHooks, harmless
from joulemap._training import PREDICT, SANITY_CHECK, TEST, TRAIN, VALIDATE

__all__ = ["EnergyCallback"]

_PACKAGES = ("lightning.pytorch", "pytorch_lightning")


def _callbacks() -> tuple[type, ...]:
    """Return the class Callback of each imported package; import one if there is none."""
    names = [name for name in _PACKAGES if sys.modules.get(name) is not None]
    for name in names or _PACKAGES:
        try:
            importlib.import_module(name)
        except ImportError:
            continue
        if name not in names:
            names.append(name)
            break
    if not names:
        raise ImportError("joulemap.lightning needs PyTorch Lightning: pip install lightning")
    return tuple(sys.modules[name].Callback for name in names)


if TYPE_CHECKING:
    _Callback = object
else:
    _Callback = type("_Callback", _callbacks(), {})


class EnergyCallback(EnergyHooks, _Callback):
    """Phases, epochs and steps of Lightning, layers of its module, and joules in its log.

    Phases are `train`, `validate`, `test`, `predict` and `sanity check`; a validation inside a fit interrupts `train`.
    A step of `train` ends when `trainer.global_step` increases: with `accumulate_grad_batches` it has several batches.
    In other phases a step is a batch. The samples of a batch are the first dimension of its first tensor, its tokens
    those of `input_ids`.

    The first process logs through `self.log`. Every `log_every_n_steps`: `energy/j_per_step`, `energy/power_w` and, if
    known, `energy/j_per_sample` and `energy/j_per_token`, without waiting, of the steps whose readings are recorded (up
    to some 1.5 s ago). With a wait of some 0.1 s each: `energy/epoch_j`, and `energy/validate_j` and `energy/test_j` up
    to the last batch.

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
    >>> energy = joulemap.lightning.EnergyCallback()  # doctest: +SKIP
    >>> lightning.Trainer(max_epochs=3, callbacks=[energy]).fit(module, loader)  # doctest: +SKIP
    >>> print(energy.report(phase="train").table())  # doctest: +SKIP
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._steps_before = 0  # trainer.global_step

    def _enter(self, trainer: Any, module: Any, phase: str) -> None:
        self._training.enter(phase, [(module, None)], rank=trainer.global_rank, processes=trainer.world_size)

    def _log(self, module: Any, figures: dict[str, float | None], *, on_step: bool) -> None:
        for name, value in figures.items():
            if value is not None:
                module.log(
                    f"energy/{name}", value, on_step=on_step, on_epoch=not on_step, batch_size=1, rank_zero_only=True
                )

    # ---- training ----

    @harmless
    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Begin a training."""
        self._enter(trainer, pl_module, TRAIN)
        self._steps_before = trainer.global_step

    @harmless
    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        """End it."""
        self._training.leave(TRAIN)

    @harmless
    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        """Begin an epoch."""
        self._training.begin_epoch()

    @harmless
    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """End it, and log its joules."""
        self._log(pl_module, {"epoch_j": self._training.energy_j(self._training.end_epoch())}, on_step=False)

    @harmless
    def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:
        """Begin a step, unless this batch adds gradients to the open step."""
        if not self._training.has_step:
            self._training.begin_step()
        self._training.count(*_batch_counts.count(batch))

    @harmless
    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        """End the step, if the optimizer made one."""
        if trainer.global_step == self._steps_before:
            return
        self._steps_before = trainer.global_step
        self._training.end_step()
        if self._training.logs and trainer._logger_connector.should_update_logs:
            self._log(pl_module, {**self._training.step_figures()}, on_step=True)

    # ---- other phases ----

    @harmless
    def on_validation_start(self, trainer: Any, pl_module: Any) -> None:
        """Begin a validation, inside a fit or by itself."""
        self._enter(trainer, pl_module, SANITY_CHECK if trainer.sanity_checking else VALIDATE)

    @harmless
    def on_validation_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Log its joules."""
        self._training.end_step()
        if not trainer.sanity_checking:
            self._log(pl_module, {"validate_j": self._training.energy_j(self._training.phase)}, on_step=False)

    @harmless
    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        """End it."""
        self._training.leave(SANITY_CHECK if trainer.sanity_checking else VALIDATE)

    @harmless
    def on_test_start(self, trainer: Any, pl_module: Any) -> None:
        """Begin a test."""
        self._enter(trainer, pl_module, TEST)

    @harmless
    def on_test_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Log its joules."""
        self._training.end_step()
        self._log(pl_module, {"test_j": self._training.energy_j(self._training.phase)}, on_step=False)

    @harmless
    def on_test_end(self, trainer: Any, pl_module: Any) -> None:
        """End it."""
        self._training.leave(TEST)

    @harmless
    def on_predict_start(self, trainer: Any, pl_module: Any) -> None:
        """Begin a prediction."""
        self._enter(trainer, pl_module, PREDICT)

    @harmless
    def on_predict_end(self, trainer: Any, pl_module: Any) -> None:
        """End it."""
        self._training.leave(PREDICT)

    @harmless
    def on_validation_batch_start(
        self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int, dataloader_idx: int = 0
    ) -> None:
        """Begin a step."""
        self._training.begin_step(*_batch_counts.count(batch))

    @harmless
    def on_validation_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int, dataloader_idx: int = 0
    ) -> None:
        """End it."""
        self._training.end_step()

    on_test_batch_start = on_predict_batch_start = on_validation_batch_start
    on_test_batch_end = on_predict_batch_end = on_validation_batch_end

    @harmless
    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        """End the open phases after an exception."""
        self._training.unwind(0, type(exception))

    @harmless
    def teardown(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """End the phases that are still open."""
        self._training.unwind(0)
