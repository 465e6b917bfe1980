"""A tiny BERT: top-level blocks, twice with different batch sizes; charts of the second."""
import os

import matplotlib

matplotlib.use("Agg")
import torch
from transformers import BertConfig, BertForSequenceClassification

from layer_energy_profiler import LayerEnergyProfiler, visualize_layer_energy

torch.manual_seed(3)
config = BertConfig(vocab_size=90, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=48,
                    max_position_embeddings=40)
model = BertForSequenceClassification(config).to("cuda").eval()
profiler = LayerEnergyProfiler(model, device="cuda")
runs = {}
for batch in (2, 8):
    ids = torch.randint(0, 90, (batch, 16)).to("cuda")
    with torch.no_grad():
        runs[batch] = profiler.profile_all_layers(ids, torch.ones_like(ids), batch_size=batch, num_loops=5)
assert [r["layer_name"] for r in runs[2]] == [r["layer_name"] for r in runs[8]]
assert any("classifier" in r["layer_name"] for r in runs[8])
assert all(r["num_power_samples"] >= 1 and r["total_time_s"] > 0 for rows in runs.values() for r in rows)
visualize_layer_energy(runs[8])
made = [f for f in os.listdir(".") if f.endswith((".png", ".csv"))]
assert len(made) >= 2, made
