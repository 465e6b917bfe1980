"""What a profiler must leave alone: the model's hooks, its mode, its output, the lists handed out before."""

import torch
import torch.nn as nn
from layer_power_profiler import LayerPowerProfiler


def hooks(model):
    return sum(len(m._forward_hooks) + len(m._forward_pre_hooks) for m in model.modules())


class Breaks(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)

    def forward(self, x):
        self.a(x)
        raise ArithmeticError("bad batch")


torch.manual_seed(1)
model = nn.Sequential(nn.Linear(10, 20), nn.Dropout(0.0), nn.Sequential(nn.ReLU(), nn.Linear(20, 5))).cuda()
mine = []
model[0].register_forward_hook(lambda m, i, o: mine.append(1))
x = torch.randn(3, 10).cuda()
before, was, weights = model(x), hooks(model), [p.clone() for p in model.parameters()]

profiler = LayerPowerProfiler(model)
first = profiler.profile(x)
kept = [(m.layer_name, m.energy_j) for m in first]
second = profiler.profile(x, num_runs=2)
assert [(m.layer_name, m.energy_j) for m in first] == kept, "the first list changed"
assert len(second) == 2 * len(first)
assert hooks(model) == was and mine
assert torch.equal(model(x), before)
assert all(torch.equal(a, b) for a, b in zip(weights, model.parameters()))

bad = Breaks().cuda()
try:
    LayerPowerProfiler(bad).profile(torch.ones(1, 4).cuda())
except ArithmeticError as e:
    assert "bad batch" in str(e)
else:
    raise AssertionError("the model's error was swallowed")
assert hooks(bad) == 0
