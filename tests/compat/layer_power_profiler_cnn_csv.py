"""A small CNN, three runs, the results file read back with the csv module."""

import csv
import time

import torch
import torch.nn as nn
from layer_power_profiler import LayerPowerProfiler


class SmallCNN(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(8)
        self.conv2 = nn.Conv2d(8, 16, 3, stride=2, padding=1)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(16, classes)

    def forward(self, x):
        x = torch.relu(self.bn1(self.conv1(x)))
        x = torch.relu(self.conv2(x))
        return self.fc(self.pool(x).flatten(1))


model = SmallCNN().cuda().eval()
x = torch.randn(8, 3, 32, 32).cuda()
t0 = time.time()
profiler = LayerPowerProfiler(model, device_index=0)
metrics = profiler.profile(x, num_runs=3, warmup=True)
assert metrics, "no layer was measured"
profiler.save_results()

with open("layer_power_profile.csv", newline="") as f:
    rows = list(csv.reader(f))
header = rows[0]
assert header[:9] == [
    "layer_name",
    "exec_id",
    "start_time",
    "end_time",
    "duration_ms",
    "start_power_w",
    "end_power_w",
    "avg_power_w",
    "energy_j",
], header
assert len(rows) - 1 == len(metrics)
names = {r[0] for r in rows[1:]}
for wanted in ("conv1", "bn1", "conv2", "pool", "fc"):
    assert wanted in names, (wanted, names)
    assert sum(r[0] == wanted for r in rows[1:]) == 3
for r in rows[1:]:
    start, end, ms, joules = float(r[2]), float(r[3]), float(r[4]), float(r[8])
    assert t0 - 5 <= start <= end <= time.time() + 5, "Unix seconds"
    assert abs((end - start) * 1e3 - ms) < 0.01 + 0.01 * ms
    assert joules > 0
with open("layer_power_profile_top10.csv", newline="") as f:
    top = list(csv.DictReader(f))
assert 1 <= len(top) <= 10 and "layer_name" in top[0]
print(len(metrics), "executions,", len(top), "in the top list")
