"""Not a language model: images in place of token ids, and no mask."""

import torch
from layer_energy_profiler import LayerEnergyProfiler
from torch import nn


class ResNetish(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, padding=1)
        self.layer1 = nn.Sequential(nn.Conv2d(8, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU())
        self.layer2 = nn.Sequential(nn.Conv2d(8, 16, 3, 2, 1), nn.BatchNorm2d(16), nn.ReLU())
        self.fc = nn.Linear(16, 10)

    def forward(self, x, mask=None):
        return self.fc(self.layer2(self.layer1(self.stem(x))).mean((2, 3)))


model = ResNetish().to("cuda").eval()
images = torch.randn(4, 3, 24, 24, device="cuda")
results = LayerEnergyProfiler(model, device="cuda").profile_all_layers(images, None, batch_size=4, num_loops=3)
assert [r["layer_name"] for r in results] == ["stem", "layer1", "layer2", "fc"]
total = sum(r["energy_per_inference_mj"] for r in results)
shares = {r["layer_name"]: 100 * r["energy_per_inference_mj"] / total for r in results}
assert abs(sum(shares.values()) - 100) < 1e-6 and min(shares.values()) > 0
print(shares)
assert not any(m._forward_hooks or m._forward_pre_hooks for m in model.modules())
