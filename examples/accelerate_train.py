"""Joules of a training loop with accelerate: steps are the batches of its loaders, `accelerator.log` logs joules.

joulemap record -o accelerate.joulemap -- python examples/accelerate_train.py
joulemap report accelerate.joulemap --phase train
"""

from __future__ import annotations

import joulemap.accelerate
import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main() -> None:
    accelerator = Accelerator()
    model = nn.Sequential(nn.Linear(512, 2048), nn.GELU(), nn.Linear(2048, 10))
    data = TensorDataset(torch.randn(20000, 512), torch.randint(10, (20000,)))
    model, optimizer, loader, held_out = accelerator.prepare(
        model, torch.optim.AdamW(model.parameters()), DataLoader(data, batch_size=256), DataLoader(data, batch_size=512)
    )
    with joulemap.accelerate.watch(accelerator, model) as energy:
        for x, labels in loader:
            loss = nn.functional.cross_entropy(model(x), labels)
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
        accelerator.log({"loss": loss.item()})
        with energy.phase("validate"), torch.no_grad():
            for x, _ in held_out:
                model(x)
    print(energy.report(phase="train").table(limit=30))


if __name__ == "__main__":
    main()
