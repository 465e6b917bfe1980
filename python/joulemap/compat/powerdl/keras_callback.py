"""`PowerCallback`: reports the progress of a Keras `fit` to a profile. Keras is imported on first use."""

from __future__ import annotations

import math
from contextlib import ExitStack
from functools import cache
from typing import TYPE_CHECKING, Any

from joulemap._keras_sizes import Sizes

if TYPE_CHECKING:
    from joulemap.compat.powerdl.profile import Profile


class FitHooks:
    """The methods of PowerCallback, without Keras' base class.

    Parameters
    ----------
    profile : Profile or PowerRecorder
        An open profile: in its `with` block, or between `start` and `stop`.
    sizes : Sizes, optional
        Batch sizes, if known: Keras does not pass them to callbacks.
    """

    def __init__(self, profile: Profile, sizes: Sizes | None = None) -> None:
        super().__init__()
        self._profile = profile
        self._progress = profile.progress("PowerCallback")
        self._sizes = Sizes() if sizes is None else sizes
        self._fitting = False
        self._validation = ExitStack()

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Begin a training."""
        self._fitting = True
        self._progress.begin_train()

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        """End it."""
        self._fitting = False
        self._progress.end_train()

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Begin an epoch."""
        self._sizes.begin_epoch()
        self._progress.begin_epoch(epoch)

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """End it."""
        self._progress.end_epoch()

    def on_train_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Begin a batch."""
        self._progress.begin_batch()

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """End it; Keras' loss is the mean of the epoch so far."""
        loss = (logs or {}).get("loss")
        self._progress.end_batch(self._sizes.next(), math.nan if loss is None else float(loss))

    def on_test_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Begin the validation of an epoch; it does not count as training."""
        if self._fitting:
            self._validation.enter_context(self._progress.validation())

    def on_test_end(self, logs: dict[str, Any] | None = None) -> None:
        """End it."""
        self._validation.close()


@cache
def power_callback() -> type[FitHooks]:
    """Return the class PowerCallback, a callback of Keras.

    Raises
    ------
    ImportError
        Without Keras.
    """
    try:
        from keras.callbacks import Callback
    except ImportError as error:
        raise ImportError("PowerCallback needs Keras: pip install keras, or tensorflow") from error
    return type("PowerCallback", (FitHooks, Callback), {"__doc__": FitHooks.__doc__, "__module__": __name__})
