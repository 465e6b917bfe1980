"""The same layers in fp32 and int8, side by side."""

import torch
from layer_energy_profiler import compare_precisions
from torch import nn

model = nn.Sequential(nn.Linear(64, 128), nn.Linear(128, 64)).to("cuda").eval()
compared = compare_precisions(model, torch.randn(32, 64, device="cuda"), dtypes=("fp32", "int8"), seconds=5)
print(compared)
compared.save("precisions.csv")
assert list(compared.results) == ["fp32", "int8"]
assert model[0].weight.dtype == torch.float32
