"""Weights & Biases: history, summary, table of layers, and images."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from joulemap.sinks._final import COLUMNS, PICTURES, Final, pixels
from joulemap.sinks._sink import Sink

if TYPE_CHECKING:
    import torch

    from joulemap._recording import Recording
    from joulemap._session import Session

_STEP = "energy/step"


def log_to_wandb(
    run: Session | Recording,
    wandb_run: Any = None,
    *,
    commit: bool = False,
    every: int | None = None,
    seconds: float | None = None,
    step: Callable[[], int] | None = None,
    gpu: int | str | torch.device | None = None,
    figures: Iterable[str] = PICTURES,
) -> Sink:
    """Log the joules of a run to Weights & Biases.

    Figures go into the open row of W&B's history, which the next `log` of your program closes. W&B's own step is not
    advanced, so no `log(..., step=n)` is lost. The charts have the axis `energy/step`, the number of the step.

    Parameters
    ----------
    run : Session or Recording
        A running session is followed until it stops. For others, or a recording, the report is logged at once.
    wandb_run : wandb.Run, optional
        A run of `wandb.init`; without it the active run.
    commit : bool
        Close a row of the history each time: for a program that logs nothing else to this run.
    every : int, optional
        Log after this many steps; the default is 10, if `seconds` is not given.
    seconds : float, optional
        Log at this interval instead, seconds.
    step : callable, optional
        Returns the number of the step that has just ended; by default steps are counted from 1.
    gpu : int, str or torch.device, optional
        One GPU, as in `Session.report`; all boards without it.
    figures : iterable of str
        Keys of `joulemap.plots.figures()` to plot at the end, if Matplotlib is installed.

    Returns
    -------
    Sink
        A handle; its `close()` ends logging before the session ends. Finish W&B's run after that.

    Raises
    ------
    TypeError, ValueError
        If an argument is wrong.
    ImportError
        Without wandb.
    RuntimeError
        If no run of W&B is active or given.
    """
    try:
        wandb: Any = importlib.import_module("wandb")
    except ImportError as error:
        raise ImportError("logging to Weights & Biases needs it: pip install wandb") from error
    if wandb_run is None:
        wandb_run = wandb.run
    if wandb_run is None:
        raise RuntimeError("no run of Weights & Biases is active: call wandb.init() first")
    logger = _WandB(wandb, wandb_run, commit)
    return Sink(run, logger, every=every, seconds=seconds, step=step, gpu=gpu, figures=figures)


class _WandB:
    """A run of W&B."""

    name = "Weights & Biases"

    def __init__(self, wandb: Any, run: Any, commit: bool) -> None:
        self._wandb = wandb
        self._run = run
        self._commit = commit
        run.define_metric("energy/*", step_metric=_STEP)
        run.define_metric("power/*", step_metric=_STEP)

    def scalars(self, values: dict[str, float], number: int, wall_s: float) -> None:
        self._run.log({**values, _STEP: number}, commit=self._commit)

    def final(self, summary: Final, number: int) -> None:
        self._run.summary.update({**summary.numbers(), **summary.texts()})
        items: dict[str, Any] = {"joulemap/layers": self._wandb.Table(columns=list(COLUMNS), data=summary.rows())}
        for key, figure in summary.pictures():
            items[f"joulemap/{key}"] = self._wandb.Image(pixels(figure))
        self._run.log(items, commit=self._commit)

    def close(self) -> None:
        """Leave the run open for the program."""
