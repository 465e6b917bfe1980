"""Joules of a training with Lightning: a callback tells phases, epochs and steps, hooks tell layers.

joulemap record -o lightning.joulemap -- python examples/lightning_train.py
joulemap report lightning.joulemap --phase fit
"""

from __future__ import annotations

from typing import Any

import joulemap
import lightning
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Joules(lightning.Callback):  # type: ignore[misc]  # where lightning is not installed, it has no types
    """Tells joulemap of fits, epochs and steps."""

    def __init__(self, run: joulemap.Session) -> None:
        self.run, self.fit, self.epoch = run, run.phase("fit"), run.epoch()

    def on_fit_start(self, trainer: Any, module: nn.Module) -> None:
        self.run.watch(module)
        self.fit.begin()

    def on_train_epoch_start(self, *_: Any) -> None:
        self.epoch.begin()

    def on_train_batch_start(self, trainer: Any, module: nn.Module, batch: Any, index: int) -> None:
        self.step = self.run.step(samples=len(batch[0])).begin()

    def on_train_batch_end(self, *_: Any) -> None:
        self.step.end()

    def on_train_epoch_end(self, *_: Any) -> None:
        self.epoch.end()

    def on_fit_end(self, *_: Any) -> None:
        self.fit.end()


class Classifier(lightning.LightningModule):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(512, 2048), nn.GELU(), nn.Linear(2048, 10))

    def training_step(self, batch: tuple[torch.Tensor, torch.Tensor], _: int) -> torch.Tensor:
        x, wanted = batch
        return nn.functional.cross_entropy(self.net(x), wanted)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.AdamW(self.parameters())


def main() -> None:
    data = TensorDataset(torch.randn(20000, 512), torch.randint(10, (20000,)))
    with joulemap.Session() as run:
        trainer = lightning.Trainer(max_epochs=4, callbacks=[Joules(run)], logger=False, enable_checkpointing=False)
        trainer.fit(Classifier(), DataLoader(data, batch_size=256))
        print(run.report(phase="fit").table(limit=30))


if __name__ == "__main__":
    main()
