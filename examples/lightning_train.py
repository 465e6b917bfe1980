"""Joules of a training with Lightning: a callback records phases, epochs, steps and layers, and logs joules.

joulemap record -o lightning.joulemap -- python examples/lightning_train.py
joulemap report lightning.joulemap --phase train
"""

from __future__ import annotations

import joulemap.lightning
import lightning
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Classifier(lightning.LightningModule):  # type: ignore[misc]  # without lightning there are no types
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(512, 2048), nn.GELU(), nn.Linear(2048, 10))

    def training_step(self, batch: tuple[torch.Tensor, torch.Tensor], _: int) -> torch.Tensor:
        x, labels = batch
        return nn.functional.cross_entropy(self.net(x), labels)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.AdamW(self.parameters())


def main() -> None:
    data = TensorDataset(torch.randn(20000, 512), torch.randint(10, (20000,)))
    energy = joulemap.lightning.EnergyCallback()
    trainer = lightning.Trainer(max_epochs=4, callbacks=[energy], logger=False, enable_checkpointing=False)
    trainer.fit(Classifier(), DataLoader(data, batch_size=256))
    print(energy.report(phase="train").table(limit=30))


if __name__ == "__main__":
    main()
