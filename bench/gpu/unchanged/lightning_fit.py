"""PyTorch Lightning on a vision transformer of torchvision."""

import logging
import sys
import time

import lightning
import torch
import torchvision
from torch.utils.data import DataLoader, TensorDataset

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 200
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class Classifier(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torchvision.models.vit_b_16()
        self.times, self.before = [], time.perf_counter()

    def training_step(self, batch, _):
        images, labels = batch
        return torch.nn.functional.cross_entropy(self.net(images), labels)

    def on_train_batch_end(self, *_):
        now = time.perf_counter()
        self.times.append(now - self.before)
        self.before = now

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-4)


data = TensorDataset(torch.rand(2048, 3, 224, 224), torch.randint(0, 1000, (2048,)))
module = Classifier()
trainer = lightning.Trainer(
    max_steps=STEPS, precision="bf16-mixed", logger=False, enable_checkpointing=False, enable_progress_bar=False
)
trainer.fit(module, DataLoader(data, batch_size=64, shuffle=True, num_workers=4, persistent_workers=True))
times = module.times[10:]
print(f"median step {1e3 * sorted(times)[len(times) // 2]:.3f} ms")
