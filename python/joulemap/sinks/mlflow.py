"""MLflow: metrics, tags, and the report as artifacts of a run."""

from __future__ import annotations

import importlib
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from joulemap.sinks._final import PICTURES, Final
from joulemap.sinks._sink import Sink

if TYPE_CHECKING:
    import torch

    from joulemap._recording import Recording
    from joulemap._session import Session

_MOST_TEXT = 500  # characters of a tag: what every store of MLflow takes


def log_to_mlflow(
    run: Session | Recording,
    mlflow_run: Any = None,
    *,
    client: Any = None,
    every: int | None = None,
    seconds: float | None = None,
    step: Callable[[], int] | None = None,
    gpu: int | str | torch.device | None = None,
    figures: Iterable[str] = PICTURES,
) -> Sink:
    """Log the joules of a run to MLflow.

    Parameters
    ----------
    run : Session or Recording
        A session that runs is followed until it stops; of another one, or a recording, its report is logged at once.
    mlflow_run : mlflow.entities.Run or str, optional
        Run, or its id. Without it the active one, or, as in `mlflow.log_metric`, one that is started now.
    client : mlflow.MlflowClient, optional
        Of another tracking server than the program's.
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
        Its `close()` ends it before the session does.

    Raises
    ------
    TypeError, ValueError
        If an argument is none of these.
    ImportError
        Without MLflow (mlflow-skinny will do).
    """
    try:
        mlflow: Any = importlib.import_module("mlflow")
    except ImportError as error:
        raise ImportError("logging to MLflow needs it: pip install mlflow, or mlflow-skinny") from error
    if mlflow_run is None:
        mlflow_run = mlflow.active_run() or mlflow.start_run()
    run_id = mlflow_run if isinstance(mlflow_run, str) else mlflow_run.info.run_id
    logger = _MLflow(mlflow, client or mlflow.MlflowClient(), run_id)
    return Sink(run, logger, every=every, seconds=seconds, step=step, gpu=gpu, figures=figures)


class _MLflow:
    """A run of MLflow, by its id: the active one is a matter of each thread."""

    name = "MLflow"

    def __init__(self, mlflow: Any, client: Any, run_id: str) -> None:
        self._entities: Any = mlflow.entities
        self._client = client
        self._run_id = run_id

    def scalars(self, values: dict[str, float], number: int, wall_s: float) -> None:
        at_ms = int(1000 * wall_s)
        metrics = [self._entities.Metric(name, value, at_ms, number) for name, value in values.items()]
        self._client.log_batch(self._run_id, metrics=metrics)

    def final(self, told: Final, number: int) -> None:
        self.scalars(told.numbers(), number, time.time())
        tags = [self._entities.RunTag(name, word[:_MOST_TEXT]) for name, word in told.words().items()]
        self._client.log_batch(self._run_id, tags=tags)
        self._client.log_dict(self._run_id, told.report.to_dict(), "joulemap/report.json")
        self._client.log_text(self._run_id, told.table(), "joulemap/report.txt")
        self._client.log_text(self._run_id, told.report.to_csv(), "joulemap/report.csv")
        with tempfile.TemporaryDirectory(prefix="joulemap-") as folder:
            page = Path(folder) / "report.html"
            told.report.to_html(page)
            self._client.log_artifact(self._run_id, str(page), "joulemap")
        for key, figure in told.pictures():
            self._client.log_figure(self._run_id, figure, f"joulemap/{key}.png")

    def close(self) -> None:
        """Leave the run open: whoever began it ends it, MLflow itself at the program's end."""
