"""Keras 3, any backend: `model.fit(x, y, callbacks=[joulemap.keras.EnergyCallback()])`.

Importing this module wraps `keras.Model.fit`, `evaluate` and `predict`: Keras passes neither exceptions nor its data to
callbacks.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from joulemap._energy_hooks import EnergyHooks, harmless, rank_by_environment
from joulemap._intervals import Part
from joulemap._keras_sizes import Sizes, planned
from joulemap._training import PREDICT, TEST, TRAIN, VALIDATE, entry_point

try:
    import keras as _keras
except ImportError as error:
    raise ImportError("joulemap.keras needs Keras 3: pip install keras, or tensorflow") from error

if TYPE_CHECKING:
    _Callback = object
else:
    _Callback = _keras.callbacks.Callback

__all__ = ["EnergyCallback"]

_sizes: ContextVar[Sizes] = ContextVar("joulemap_sizes")
"""Batch sizes of the innermost call of `fit`, `evaluate` or `predict`."""


def _layers(model: Any, path: str = "") -> Iterator[tuple[Any, str]]:
    """Yield the layers of a model and their paths; they are no PyTorch submodules."""
    for layer in getattr(model, "layers", ()):
        layer_path = f"{path}{layer.name}"
        yield layer, layer_path
        yield from _layers(layer, f"{layer_path}.")


class EnergyCallback(EnergyHooks, _Callback):
    """Phases, epochs and steps of Keras, and its joules in the History.

    `fit` is a phase `train`, its validation a separate phase `validate`, `evaluate` a phase `test` and `predict` a
    phase `predict`. A step lasts from one batch to the next, or `steps_per_execution` batches. Samples are known for
    arrays and PyTorch's DataLoader. On the torch backend the model's layers are rows of the report.

    The `logs` of an epoch get `energy_j`, the joules of its training, and `val_energy_j`, those of its validation.
    Callbacks after this one see them, and so does History. Each epoch ends with a wait of some 0.1 s for the sensors;
    batches do not wait.

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
    >>> energy = joulemap.keras.EnergyCallback()  # doctest: +SKIP
    >>> history = model.fit(x, y, epochs=3, callbacks=[energy])  # doctest: +SKIP
    >>> print(history.history["energy_j"], energy.report().table())  # doctest: +SKIP
    """

    model: Any
    params: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._sizes = Sizes()
        self._sizes_before = self._sizes
        self._validation: Part | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return the state of a copy, without figures of a training."""
        return {**self.__dict__, "_sizes": Sizes(), "_sizes_before": Sizes(), "_validation": None}

    def _enter(self, phase: str) -> None:
        self._sizes = _sizes.get(Sizes())
        rank, processes = rank_by_environment()
        models = [(self.model, None), *_layers(self.model)]
        self._training.enter(phase, models, rank=rank, processes=processes)

    def _begin_step(self, batch: int) -> None:
        batches = int(getattr(self.model, "steps_per_execution", None) or 1)
        last = (self.params or {}).get("steps") if self._is(TRAIN) else None
        if last is not None:
            batches = min(batches, last - batch)
        sizes = [self._sizes.next() for _ in range(batches)]
        self._training.begin_step(sum(sizes) if min(sizes, default=-1) >= 0 else 0)

    def _is(self, phase: str) -> bool:
        return self._training.phase is not None and self._training.phase.name == phase

    @harmless
    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Begin a training."""
        self._enter(TRAIN)

    @harmless
    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        """End it."""
        self._training.leave(TRAIN)

    @harmless
    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Begin an epoch."""
        self._sizes.begin_epoch()
        self._validation = None
        self._training.begin_epoch()

    @harmless
    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """End it, and log its joules."""
        ended = self._training.end_epoch()
        for key, part in (("energy_j", ended), ("val_energy_j", self._validation)):
            joules = self._training.energy_j(part)
            if logs is not None and joules is not None:
                logs[key] = joules

    # on_train_batch_end is not used: with it Keras would compute the loss of every batch, and wait for the GPU.

    @harmless
    def on_train_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """End the previous step and begin the next one."""
        self._begin_step(batch)

    @harmless
    def on_test_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Begin a validation, or an evaluation by itself."""
        training_sizes = self._sizes
        self._enter(VALIDATE if self._is(TRAIN) else TEST)
        self._sizes.begin_epoch()
        self._sizes_before = training_sizes

    @harmless
    def on_test_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Begin a step."""
        self._begin_step(batch)

    @harmless
    def on_test_end(self, logs: dict[str, Any] | None = None) -> None:
        """End it."""
        self._sizes = self._sizes_before
        self._validation = self._training.leave(VALIDATE)
        self._training.leave(TEST)

    @harmless
    def on_predict_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Begin a prediction."""
        self._enter(PREDICT)
        self._sizes.begin_epoch()

    @harmless
    def on_predict_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Begin a step."""
        self._begin_step(batch)

    @harmless
    def on_predict_end(self, logs: dict[str, Any] | None = None) -> None:
        """End it."""
        self._training.leave(PREDICT)


def _sizes_of(signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Sizes:
    try:
        given = signature.bind(*args, **kwargs).arguments
        return planned(given.get("x"), given) or Sizes()
    except Exception:  # from the data, or an override of `fit` with other arguments
        return Sizes()


def _wrapped(original: Callable[..., Any]) -> Callable[..., Any]:
    signature = inspect.signature(original)

    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        token = _sizes.set(_sizes_of(signature, args, kwargs))
        try:
            with entry_point():
                return original(*args, **kwargs)
        finally:
            _sizes.reset(token)

    return call


for _name in ("fit", "evaluate", "predict"):
    setattr(_keras.Model, _name, _wrapped(getattr(_keras.Model, _name)))
