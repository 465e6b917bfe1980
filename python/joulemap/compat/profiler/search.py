"""The power cap with the lowest ED2P for a model: eight caps are tried, others are modelled."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Literal

from joulemap import compat
from joulemap._gpu import find_gpu
from joulemap.caps import search
from joulemap.caps.result import CapSearch
from joulemap.caps.windows import WINDOWS
from joulemap.compat._shared import RowFile, kwh
from joulemap.compat.profiler.caps import held

if TYPE_CHECKING:
    import torch
    from torch import nn

CAPS = 8
_ROUNDS = 2
_SETTLE = 0.25  # share of a trial
_COLUMNS = ("power cap (mW)", "batches", "GPU energy (kWh)")
_MORE = ("time of a batch (s)", "mean power (W)")
"""The old columns, the objective per batch, then joulemap's own columns."""

_TITLES = {"ed2p": "ED2P (J s2)", "edp": "EDP (J s)", "energy": "energy (J)"}
_EXPONENTS = {"ed2p": 2, "edp": 1, "energy": 0}  # of the time in the objective


def power_cap_profiler(
    model: nn.Module,
    dataloader: Iterable[Any],
    gpu_num: int = 0,
    train: bool = False,
    loss_fn: Callable[[Any, Any], torch.Tensor] | None = None,
    optimizer: torch.optim.Optimizer | None = None,
    out_file: str | os.PathLike[str] | None = None,
    *,
    objective: Literal["ed2p", "edp", "energy"] = "ed2p",
) -> int:
    """Return the power cap with the lowest ED2P for a model: eight caps are tried twice, others are modelled.

    The GPU's cap, the model, its optimizer and all random states are restored.

    Parameters
    ----------
    model : torch.nn.Module
        A model on one GPU.
    dataloader : iterable
        Batches: tensors, or tensors in tuples, lists, dicts and mappings.
    gpu_num : int
        CUDA index of the GPU; for a simulated GPU its index.
    train : bool
        Run training steps; otherwise forward passes.
    loss_fn, optimizer : callable, torch.optim.Optimizer
        For training; without `loss_fn` the model's output must have a `loss`.
    out_file : path, optional
        CSV file with a row per tried cap, then the modelled optimum.
    objective : str
        Quantity to minimize: "ed2p", "edp" or "energy".

    Returns
    -------
    int
        The cap, watts. If caps make no difference to this work, the one that was found.

    Raises
    ------
    TypeError, ValueError
        If an argument is wrong.
    joulemap.Error
        If the GPU's cap cannot be set (the message says how to get the right), another program has the lease, there is
        no such GPU, or there were no readings of its power.
    """
    if objective not in _TITLES:
        raise ValueError(f"objective is one of {', '.join(_TITLES)}, not {objective!r}")
    gpu = find_gpu(gpu_num).index
    trial_s = compat.isolation_s / (CAPS * _ROUNDS)
    found = search(
        model,
        dataloader,
        train=train,
        loss_fn=loss_fn,
        optimizer=optimizer,
        objective=objective,
        sweep=CAPS,
        sweep_rounds=_ROUNDS,
        proof=False,
        gpu=gpu,
        settle_s=_SETTLE * trial_s,
        window_s=(1 - _SETTLE) * trial_s,
        lease=held(gpu),
    )
    best_w = round(modelled_w(found))
    if out_file is not None:
        _write(out_file, found, objective, best_w)
    return best_w


def modelled_w(found: CapSearch) -> float:
    """Return the cap with the lowest objective, tried or not, watts; the found one if caps make no difference."""
    if found.verdict == "no difference":
        return found.reference_w
    least = min(found.predictions, key=lambda one: one["relative"][found.objective][0])
    return float(least["cap_w"])


def _write(path: str | os.PathLike[str], found: CapSearch, objective: str, best_w: int) -> None:
    """Write the tried caps in ascending order, and the modelled optimum."""
    by_cap: dict[float, list[tuple[float, float]]] = {}
    for trial in found.trials:
        by_cap.setdefault(trial.cap_w, []).append((trial.time_s, trial.energy_j))
    file = RowFile(path, [*_COLUMNS, _TITLES[objective], *_MORE])
    try:
        for cap_w, trials in sorted(by_cap.items()):
            time_s = sum(time_s for time_s, _ in trials) / len(trials)
            energy_j = sum(energy_j for _, energy_j in trials) / len(trials)
            batches = found.steps * WINDOWS * len(trials)
            file.write(
                [
                    round(1000 * cap_w),
                    batches,
                    kwh(energy_j * batches),
                    energy_j * time_s ** _EXPONENTS[objective],
                    time_s,
                    energy_j / time_s,
                ]
            )
        file.write(["Modeled Optimal Cap:", best_w])
    finally:
        file.close()
