"""A tiny BERT: its top-level blocks, and their charts."""

import os

import matplotlib

matplotlib.use("Agg")
import torch
from layer_energy_profiler import LayerEnergyProfiler, visualize_layer_energy
from transformers import BertConfig, BertForSequenceClassification

torch.manual_seed(3)
config = BertConfig(
    vocab_size=90,
    hidden_size=32,
    num_hidden_layers=1,
    num_attention_heads=2,
    intermediate_size=48,
    max_position_embeddings=40,
)
model = BertForSequenceClassification(config).to("cuda").eval()
profiler = LayerEnergyProfiler(model, device="cuda")
ids = torch.randint(0, 90, (8, 16)).to("cuda")
with torch.no_grad():
    rows = profiler.profile_all_layers(ids, torch.ones_like(ids), batch_size=8, num_loops=5)
assert any("classifier" in r["layer_name"] for r in rows)
assert all(r["num_power_samples"] >= 1 and r["total_time_s"] > 0 for r in rows)
visualize_layer_energy(rows)
made = [f for f in os.listdir(".") if f.endswith((".png", ".csv"))]
assert len(made) >= 2, made
