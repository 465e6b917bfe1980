"""Sinks: write the joules of a run to experiment loggers.

>>> import joulemap.sinks
>>> with joulemap.Session() as run:  # doctest: +SKIP
...     joulemap.sinks.log_to_tensorboard(run, "logs", every=10)
...     train(model)

While the session runs: `energy/j_per_step`, `energy/j_per_sample`, `energy/j_per_token`, `energy/total_j`, and the
watts of each GPU, `power/gpu0_w`. At its end: totals with intervals, the verdict, the table of layers, figures. Unknown
values are left out. The package of a logger is imported when its function is called.
"""

from joulemap.sinks.mlflow import log_to_mlflow
from joulemap.sinks.tensorboard import log_to_tensorboard
from joulemap.sinks.wandb import log_to_wandb

__all__ = ["log_to_mlflow", "log_to_tensorboard", "log_to_wandb"]
