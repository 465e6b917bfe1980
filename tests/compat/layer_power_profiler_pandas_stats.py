"""The analysis part of a notebook: data frame, summary by layer, two-level columns."""

import numpy as np
import pandas as pd
import torch
from layer_power_profiler import LayerPowerProfiler

net = torch.nn.Sequential()
net.add_module("fc1", torch.nn.Linear(256, 512))
net.add_module("act", torch.nn.GELU())
net.add_module("fc2", torch.nn.Linear(512, 64))
net.to("cuda")

profiler = LayerPowerProfiler(net)
profiler.profile(torch.randn(128, 256, device="cuda"), num_runs=5)
df = profiler.get_results_dataframe()
assert isinstance(df, pd.DataFrame)
assert list(df.columns[:9]) == [
    "layer_name",
    "exec_id",
    "start_time",
    "end_time",
    "duration_ms",
    "start_power_w",
    "end_power_w",
    "avg_power_w",
    "energy_j",
]
summary = profiler.get_summary_stats()
for column, stats in {
    "duration_ms": ["mean", "std", "min", "max"],
    "avg_power_w": ["mean", "std", "min", "max"],
    "energy_j": ["sum", "mean", "std"],
}.items():
    for stat in stats:
        assert (column, stat) in summary.columns, (column, stat)
assert summary.columns.nlevels == 2
assert {"fc1", "act", "fc2"} <= set(summary.index)
fc1 = df[df.layer_name == "fc1"]
assert len(fc1) == 5
assert np.isclose(summary.loc["fc1", ("duration_ms", "mean")], fc1.duration_ms.mean())
assert np.isclose(summary[("duration_ms", "std")]["fc1"], fc1.duration_ms.std())
assert np.isclose(summary.loc["fc1", ("energy_j", "sum")], fc1.energy_j.sum())
worst = summary.sort_values(("energy_j", "sum"), ascending=False).head(3)
worst.to_csv("worst.csv")
profiler.save_results("runs.csv")
again = pd.read_csv("runs.csv")
assert len(again) == len(df) and np.allclose(again.energy_j, df.energy_j, rtol=1e-3)
