"""A training that profiles a batch of its loader now and then, a file each time; half precision; statistics as CSV."""

import glob

import torch
from layer_power_profiler import LayerPowerProfiler
from torch import nn
from torch.utils.data import DataLoader

model = nn.Sequential(nn.Linear(24, 48), nn.ReLU(), nn.Linear(48, 24)).to("cuda")
loader = DataLoader(torch.randn(64, 24), batch_size=16)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
profiler = LayerPowerProfiler(model)
for epoch in range(4):
    for batch in loader:
        batch = batch.to("cuda")
        optimizer.zero_grad()
        nn.functional.mse_loss(model(batch), batch).backward()
        optimizer.step()
    if epoch % 2 == 0:
        results = profiler.profile(next(iter(loader)).to("cuda"), num_runs=3)
        profiler.save_results(f"profile_epoch_{epoch}.csv")
        assert {m.layer_name for m in results} >= {"0", "1", "2"}
assert sorted(glob.glob("profile_epoch_?.csv")) == ["profile_epoch_0.csv", "profile_epoch_2.csv"]
summary = profiler.get_summary_stats()
summary.to_csv("summary.csv")
assert (summary[("duration_ms", "std")] >= 0).all()

half = LayerPowerProfiler(model.half())
half.profile(batch.half(), num_runs=2)
half.print_summary()
half.save_results("half.csv")
