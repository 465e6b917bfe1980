"""Quantized by hand (weights rounded to int8 steps), profiled before and after, compared by the user's own code."""

import torch
from layer_energy_profiler import LayerEnergyProfiler
from torch import nn


class QuantLinear(nn.Module):
    def __init__(self, linear):
        super().__init__()
        scale = linear.weight.detach().abs().amax(1, keepdim=True) / 127
        self.register_buffer("q", (linear.weight.detach() / scale).round().to(torch.int8))
        self.register_buffer("scale", scale)
        self.bias = linear.bias

    def forward(self, x):
        return nn.functional.linear(x, self.q.to(x.dtype) * self.scale, self.bias)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.EmbeddingBag(80, 48, mode="mean")
        self.hidden = nn.Linear(48, 96)
        self.classifier = nn.Linear(96, 3)

    def forward(self, input_ids, attention_mask=None):
        return self.classifier(torch.relu(self.hidden(self.embed(input_ids))))


model = Net().to("cuda").eval()
ids = torch.randint(0, 80, (8, 10), device="cuda")
mask = torch.ones(8, 10, device="cuda")


def measure():
    rows = LayerEnergyProfiler(model, device="cuda").profile_all_layers(ids, mask, batch_size=8, num_loops=10)
    return {r["layer_name"]: r["energy_per_inference_mj"] for r in rows}


with torch.no_grad():
    exact, full = model(ids, mask), measure()
    model.hidden = QuantLinear(model.hidden)
    model.classifier = QuantLinear(model.classifier)
    near, small = model(ids, mask), measure()
assert (exact - near).abs().max() < 0.1
assert list(full) == list(small) == ["embed", "hidden", "classifier"]
for name in full:
    print(f"{name:12s}{full[name]:10.4f} mJ {small[name]:10.4f} mJ")
    assert full[name] > 0 and small[name] > 0
