"""Forward passes, as a tensor and by name."""

import torch
from layer_power_profiler import LayerPowerProfiler
from torch import nn

model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 64)).to("cuda")
profiler = LayerPowerProfiler(model, device_index=0)
results = profiler.profile(torch.randn(32, 64, device="cuda"), num_runs=3, warmup=True)
assert len(results) == 12
profiler.print_summary()
profiler.save_results("layers.csv")
summary = profiler.get_summary_stats()
print(summary[("duration_ms", "std")])
again = profiler.profile({"input": torch.randn(32, 64)}, warmup=False)
assert len(results) == 12
assert len(again) == 4
