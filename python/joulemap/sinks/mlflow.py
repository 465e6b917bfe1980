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

_MAX_TAG = 500  # characters of a tag that all stores of MLflow accept


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
        A running session is followed until it stops. For others, or a recording, the report is logged at once.
    mlflow_run : mlflow.entities.Run or str, optional
        A run or its id. Without it the active run, or, as in `mlflow.log_metric`, a new one.
    client : mlflow.MlflowClient, optional
        Client of another tracking server.
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
        A handle; its `close()` ends logging before the session ends.

    Raises
    ------
    TypeError, ValueError
        If an argument is wrong.
    ImportError
        Without MLflow (mlflow-skinny is enough).
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
    """A run of MLflow, by its id: each thread has its own active run."""

    name = "MLflow"

    def __init__(self, mlflow: Any, client: Any, run_id: str) -> None:
        self._entities: Any = mlflow.entities
        self._client = client
        self._run_id = run_id

    def scalars(self, values: dict[str, float], number: int, wall_s: float) -> None:
        at_ms = int(1000 * wall_s)
        metrics = [self._entities.Metric(name, value, at_ms, number) for name, value in values.items()]
        self._client.log_batch(self._run_id, metrics=metrics)

    def final(self, summary: Final, number: int) -> None:
        self.scalars(summary.numbers(), number, time.time())
        tags = [self._entities.RunTag(name, text[:_MAX_TAG]) for name, text in summary.texts().items()]
        self._client.log_batch(self._run_id, tags=tags)
        self._client.log_dict(self._run_id, summary.report.to_dict(), "joulemap/report.json")
        self._client.log_text(self._run_id, summary.table(), "joulemap/report.txt")
        self._client.log_text(self._run_id, summary.report.to_csv(), "joulemap/report.csv")
        with tempfile.TemporaryDirectory(prefix="joulemap-") as folder:
            page = Path(folder) / "report.html"
            summary.report.to_html(page)
            self._client.log_artifact(self._run_id, str(page), "joulemap")
        for key, figure in summary.pictures():
            self._client.log_figure(self._run_id, figure, f"joulemap/{key}.png")

    def close(self) -> None:
        """Leave the run open for the program; MLflow ends it at the program's end."""
