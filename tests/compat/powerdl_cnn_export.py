"""Train a CNN for one epoch, export everything, read it back with pandas."""

import json
import os

import pandas as pd
import torch
import torch.nn as nn
from powerdl.highlevel import profile_torch
from torch.utils.data import DataLoader, TensorDataset

model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8 * 7 * 7, 10)).cuda()
data = TensorDataset(torch.randn(96, 3, 16, 16), torch.randint(0, 10, (96,)))
loader = DataLoader(data, batch_size=32, shuffle=True)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

with profile_torch(out_dir="run", device_index=0, interval_s=0.02) as prof:
    prof.train(model, loader, optimizer, nn.CrossEntropyLoss(), epochs=1)
    report = prof.report()

report.export("exported", include_csv=True, include_summary=True)
summary = json.load(open("exported/summary.json"))
for key in ("train_energy_j", "train_time_s", "train_avg_power_w", "epoch_energies", "batch_rows", "gpu_name"):
    assert key in summary, key
assert summary["train_energy_j"] > 0
assert (
    abs(summary["train_energy_j"] - summary["train_avg_power_w"] * summary["train_time_s"])
    < 0.01 * summary["train_energy_j"]
)

samples = pd.read_csv("exported/samples.csv")
assert list(samples.columns[:5]) == ["t", "p_w", "gpu_util", "mem_util", "ts"]
assert (samples["p_w"].dropna() > 0).all() and samples["t"].is_monotonic_increasing
marks = pd.read_csv("exported/marks.csv")
assert list(marks.columns[:3]) == ["name", "t", "meta"]
counts = marks["name"].value_counts()
assert counts["train_start"] == counts["train_end"] == counts["epoch_start"] == counts["epoch_end"] == 1
assert counts["batch_start"] == counts["batch_end"] == 3
last = json.loads(marks[marks["name"] == "batch_end"].iloc[-1]["meta"])
assert last["batch_size"] == 32 and last["loss"] > 0 and "batch" in last
batches = pd.read_csv("exported/batches.csv")
assert list(batches.columns[:8]) == [
    "batch",
    "batch_size",
    "time_s",
    "energy_j",
    "avg_power_w",
    "j_per_sample",
    "throughput_img_s",
    "loss",
]
assert len(batches) == 3 and (batches["energy_j"] > 0).all()
assert (
    abs((batches.energy_j / batches.batch_size - batches.j_per_sample).abs().max())
    < 1e-6 + 1e-3 * batches.j_per_sample.max()
)
assert list(pd.read_csv("exported/epochs.csv").columns[:4]) == ["epoch", "time_s", "energy_j", "avg_power_w"]
assert os.path.isdir("run")
