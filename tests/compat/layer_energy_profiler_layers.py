"""The guide: layers of a DistilBERT (one that needs no download), each alone."""

import torch
from layer_energy_profiler import LayerEnergyProfiler, visualize_layer_energy
from torch import nn


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.Linear(64, 64)
        self.ffn = nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 64))

    def forward(self, x):
        x = x + self.attention(x)
        return x + self.ffn(x)


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.ModuleList(Block() for _ in range(2))

    def forward(self, x):
        for block in self.layer:
            x = block(x)
        return x


class DistilBert(nn.Module):
    def __init__(self):
        super().__init__()
        self.embeddings = nn.Embedding(100, 64)
        self.transformer = Transformer()

    def forward(self, input_ids, attention_mask):
        return self.transformer(self.embeddings(input_ids) * attention_mask[..., None])


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.distilbert = DistilBert()
        self.pre_classifier = nn.Linear(64, 64)
        self.classifier = nn.Linear(64, 2)

    def forward(self, input_ids=None, attention_mask=None):
        hidden = self.distilbert(input_ids, attention_mask)[:, 0]
        return self.classifier(torch.relu(self.pre_classifier(hidden)))


model = Classifier().to("cuda")
input_ids = torch.randint(0, 100, (8, 32)).to("cuda")
attention_mask = torch.ones_like(input_ids)
profiler = LayerEnergyProfiler(model, device="cuda")
results = profiler.profile_all_layers(input_ids, attention_mask, batch_size=8, num_loops=100)
visualize_layer_energy(results)
assert [one["layer_name"] for one in results] == [
    "embeddings",
    "transformer_block_0",
    "transformer_block_1",
    "pre_classifier",
    "classifier",
]
for one in results:
    assert abs(one["energy_total_j"] - one["avg_power_w"] * one["total_time_s"]) <= 1e-6 * abs(one["energy_total_j"])
    assert one["num_loops"] == 100
    assert one["num_power_samples"] > 0
