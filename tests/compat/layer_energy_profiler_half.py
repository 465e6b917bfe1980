"""The same model in float32 and bfloat16, side by side."""

import copy

import pandas as pd
import torch
from layer_energy_profiler import LayerEnergyProfiler
from torch import nn


class Tiny(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok = nn.Embedding(100, 64)
        self.mix = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.Linear(128, 64))
        self.cls = nn.Linear(64, 5)

    def forward(self, input_ids, attention_mask):
        x = self.tok(input_ids) * attention_mask.unsqueeze(-1).to(self.tok.weight.dtype)
        return self.cls(self.mix(x)[:, 0])


base = Tiny().eval()
ids = torch.randint(0, 100, (8, 16), device="cuda")
mask = torch.ones_like(ids)
tables = {}
for name, dtype in {"fp32": torch.float32, "bf16": torch.bfloat16}.items():
    model = copy.deepcopy(base).to("cuda", dtype=dtype)
    tables[name] = pd.DataFrame(
        LayerEnergyProfiler(model, "cuda").profile_all_layers(ids, mask, batch_size=8, num_loops=4)
    )
both = tables["fp32"].merge(tables["bf16"], on="layer_name", suffixes=("_fp32", "_bf16"))
assert list(both["layer_name"]) == ["tok", "mix", "cls"]
both["saved_%"] = 100 * (1 - both["energy_per_inference_mj_bf16"] / both["energy_per_inference_mj_fp32"])
both.to_csv("precisions.csv", index=False)
print(both[["layer_name", "energy_per_inference_mj_fp32", "energy_per_inference_mj_bf16", "saved_%"]])
assert (both["energy_total_j_fp32"] > 0).all() and (both["energy_total_j_bf16"] > 0).all()
