"""Generation token by token, and a model that cannot."""

import torch
from layer_power_profiler import LayerPowerProfiler
from torch import nn


class Speaker(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(32, 32)

    def forward(self, x):
        return torch.tanh(self.body(x))

    def generate(self, x, max_new_tokens=1, **_):
        for _step in range(max_new_tokens):
            x = self(x)
        return x


profiler = LayerPowerProfiler(Speaker().cuda())
results = profiler.profile_generation({"x": torch.randn(4, 32).cuda()}, max_new_tokens=7)
assert [one.layer_name for one in results].count("body") == 7
try:
    LayerPowerProfiler(nn.Linear(2, 2).cuda()).profile_generation(torch.randn(1, 2))
except ValueError as error:
    print(error)
else:
    raise AssertionError("generate is missing, and nobody said so")
