"""Weights & Biases: history, summary, a table of layers and images of a run."""

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

    Figures go into the row of W&B's history that is open, which the next `log` of your program closes: W&B's own step
    is never moved on, so no `log(..., step=n)` is lost. The number of the step that they are of is `energy/step`, the
    axis of their charts.

    Parameters
    ----------
    run : Session or Recording
        A session that runs is followed until it stops; of another one, or a recording, its report is logged at once.
    wandb_run : wandb.Run, optional
        What `wandb.init` gave; without it the one that is active.
    commit : bool
        Close a row of the history each time: for a program that logs nothing else to this run.
    every : int, optional
        Log each so many steps; 10 without it and `seconds`.
    seconds : float, optional
        Log each so many seconds instead.
    step : callable, optional
        Gives the number of the step that has just ended; counted from 1 without it.
    gpu : int, str or torch.device, optional
        One GPU, as in `Session.report`; all boards without it.
    figures : iterable of str
        Keys of `joulemap.plots.figures()` to draw at the end, where Matplotlib is there.

    Returns
    -------
    Sink
        Its `close()` ends it before the session does; W&B's run is to be finished after that.

    Raises
    ------
    TypeError, ValueError
        If an argument is none of these.
    ImportError
        Without wandb.
    RuntimeError
        If no run of W&B is active and none is given.
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

    def final(self, told: Final, number: int) -> None:
        self._run.summary.update({**told.numbers(), **told.words()})
        shown: dict[str, Any] = {"joulemap/layers": self._wandb.Table(columns=list(COLUMNS), data=told.rows())}
        for key, figure in told.pictures():
            shown[f"joulemap/{key}"] = self._wandb.Image(pixels(figure))
        self._run.log(shown, commit=self._commit)

    def close(self) -> None:
        """Leave the run open: whoever began it finishes it."""
