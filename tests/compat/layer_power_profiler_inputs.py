"""Every way to hand the inputs over: tensor, tuple, list, dict, another mapping."""

from collections import OrderedDict, UserDict

import torch
from layer_power_profiler import LayerPowerProfiler
from torch import nn


class TwoTowers(nn.Module):
    def __init__(self):
        super().__init__()
        self.user = nn.Linear(32, 64)
        self.item = nn.Linear(16, 64)
        self.score = nn.Bilinear(64, 64, 1)

    def forward(self, user, item):
        return self.score(torch.tanh(self.user(user)), torch.tanh(self.item(item)))


device = torch.device("cuda")
model = TwoTowers().to(device)
u = torch.randn(64, 32, device=device)
i = torch.randn(64, 16, device=device)
ways = {
    "tuple": (u, i),
    "list": [u, i],
    "dict": {"user": u, "item": i},
    "ordered": OrderedDict(item=i, user=u),
    "mapping": UserDict(user=u, item=i),
}
for how, inputs in ways.items():
    result = LayerPowerProfiler(model).profile(inputs, num_runs=2, warmup=False)
    seen = {m.layer_name for m in result}
    assert {"user", "item", "score"} <= seen, (how, seen)
    print(f"{how:8s} {len(result):3d} rows")

single = nn.Sequential(nn.Linear(32, 8), nn.ReLU()).to(device)
result = LayerPowerProfiler(single, 0).profile(u)
assert {"0", "1"} <= {m.layer_name for m in result}
