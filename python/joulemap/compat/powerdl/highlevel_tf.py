"""`profile_tf`: trainings and inferences of Keras models, on TensorFlow or another backend."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from joulemap import _arguments
from joulemap._keras_sizes import count_samples, leaves
from joulemap.compat.powerdl.keras_data import counted, is_dataset
from joulemap.compat.powerdl.profile import Profile
from joulemap.compat.powerdl.settings import TorchRunConfig


class KerasProfile(Profile):
    """A profile of Keras models; `profile_tf` makes it, a `with` block begins it."""

    def fit(self, model: Any, data: Any, **fit_kwargs: Any) -> Any:
        """Call the model's `fit`, and measure it; calls add up.

        Parameters
        ----------
        model : keras.Model
            A compiled model.
        data : Any
            The argument `x` of `fit`, or a tuple (x, y) or (x, y, sample_weight) of arrays.
        **fit_kwargs
            Other arguments of `fit`.

        Returns
        -------
        keras.callbacks.History
            The result of `fit`.

        Raises
        ------
        RuntimeError
            Outside `with`.
        """
        from joulemap.compat.powerdl.keras_callback import power_callback

        progress = self.progress("fit")
        inputs, named, sizes = counted(data, fit_kwargs)
        given = fit_kwargs.pop("callbacks", None) or []
        callbacks = [*(given if isinstance(given, list | tuple) else [given]), power_callback()(self, sizes)]
        try:
            history = model.fit(*inputs, **{"verbose": 0, **named, **fit_kwargs}, callbacks=callbacks)
        finally:
            progress.pause_train()  # after an exception
        for number, loss in enumerate(history.history.get("loss", [])):
            self._print(f"epoch {number}: loss {loss:.4g}")
        return history

    def infer_keras(self, model: Any, x: Any, batch_size: int = 256, warmup_n: int = 1024) -> dict[str, float]:
        """Measure the model's `predict`, after a warm-up.

        Parameters
        ----------
        model : keras.Model
            The model.
        x : Any
            The argument of `predict`.
        batch_size : int
            Batch size of arrays; a dataset has its own.
        warmup_n : int
            Samples of the warm-up; for a dataset its first batch.

        Returns
        -------
        dict
            `infer_energy_j`, `infer_time_s`, `infer_avg_power_w`, `infer_j_per_sample`, `infer_throughput_img_s`,
            `infer_avg_gpu_util`, `infer_avg_mem_util`; NaN if not measured.

        Raises
        ------
        RuntimeError
            Outside `with`.
        """
        progress = self.progress("infer_keras")
        named = {"verbose": 0}
        if all(hasattr(leaf, "shape") for leaf in leaves(x)):
            named["batch_size"] = max(1, _arguments.whole("batch_size", batch_size))
        warmup_n = _arguments.whole("warmup_n", warmup_n)
        if warmup_n > 0:
            with progress.warm_up():
                model.predict(_first(x, warmup_n), **named)
        with progress.inference() as inference, progress.infer_batch():
            inference.samples = count_samples(model.predict(x, **named))
        return self._inferred()


def _first(x: Any, samples: int) -> Any:
    """Return the first samples of an argument of `predict`."""
    if is_dataset(x):
        return x.take(1)
    if isinstance(x, Mapping):
        return {name: _first(part, samples) for name, part in x.items()}
    if isinstance(x, list | tuple):
        return type(x)(_first(part, samples) for part in x)
    return x[:samples] if hasattr(x, "shape") else x


def profile_tf(
    out_dir: str | os.PathLike[str] | None = None,
    device_index: int = 0,
    interval_s: float = 0.02,
    verbose: int = 0,
    collect_util: bool = True,
    max_samples: int | None = None,
    max_memory_mb: float | None = None,
    warn_at_pct: float = 0.8,
    approx_bytes_per_sample: int = 1024,
    auto_flush_dir: str | os.PathLike[str] | None = None,
    auto_flush_prefix: str = "powerdl",
    auto_flush_keep_marks: bool = True,
) -> KerasProfile:
    """Return a profile of Keras models, for `with`; `TorchRunConfig` documents the arguments."""
    return KerasProfile(
        TorchRunConfig(
            out_dir,
            device_index,
            interval_s,
            False,
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
