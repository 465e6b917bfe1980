"""Joules beside the loss, in TensorBoard, MLflow or Weights & Biases.

python examples/loggers.py tensorboard
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import joulemap
import joulemap.sinks
import torch
from torch import nn

Log = Callable[[float, int], object]


def to_tensorboard(run: joulemap.Session) -> Log:
    from torch.utils.tensorboard import SummaryWriter

    writer = SummaryWriter("logs")
    joulemap.sinks.log_to_tensorboard(run, writer, every=10)
    return lambda loss, step: writer.add_scalar("loss", loss, step)


def to_mlflow(run: joulemap.Session) -> Log:
    import mlflow

    mlflow.start_run()
    joulemap.sinks.log_to_mlflow(run, every=10)
    return lambda loss, step: mlflow.log_metric("loss", loss, step)


def to_wandb(run: joulemap.Session) -> Log:
    import wandb

    history = wandb.init(project="joules")
    joulemap.sinks.log_to_wandb(run, every=10)
    return lambda loss, step: history.log({"loss": loss}, step=step)


def main() -> None:
    begin = {"tensorboard": to_tensorboard, "mlflow": to_mlflow, "wandb": to_wandb}[sys.argv[1]]
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 64)).to(device)
    optimizer = torch.optim.AdamW(model.parameters())
    with joulemap.Session() as run:
        log = begin(run)
        run.watch(model)
        for step in range(1, 101):
            with run.step(samples=32):
                x = torch.randn(32, 64, device=device)
                loss = nn.functional.mse_loss(model(x), x)
                loss.backward()
                optimizer.step()
                optimizer.zero_grad()
            log(loss.item(), step)
        print(run.report().table())


if __name__ == "__main__":
    main()
