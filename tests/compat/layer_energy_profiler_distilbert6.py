"""DistilBERT of six blocks: the rows, their names and their fields."""

import torch
from layer_energy_profiler import LayerEnergyProfiler
from transformers import DistilBertConfig, DistilBertForSequenceClassification

config = DistilBertConfig(
    vocab_size=128, dim=32, n_layers=6, n_heads=4, hidden_dim=64, max_position_embeddings=32, num_labels=4
)
model = DistilBertForSequenceClassification(config).to("cuda").eval()
input_ids = torch.randint(0, 128, (100, 24)).to("cuda")  # more rows than a pass takes
attention_mask = torch.ones_like(input_ids)
profiler = LayerEnergyProfiler(model, device="cuda")
results = profiler.profile_all_layers(input_ids, attention_mask, batch_size=16, num_loops=5)

names = [r["layer_name"] for r in results]
assert names == ["embeddings"] + ["transformer_block_%d" % i for i in range(6)] + ["pre_classifier", "classifier"], (
    names
)
keys = {
    "layer_name",
    "layer_idx",
    "avg_power_w",
    "total_time_s",
    "energy_total_j",
    "energy_per_inference_mj",
    "num_loops",
    "latency_per_loop_ms",
    "num_power_samples",
}
for r in results:
    assert keys <= set(r), keys - set(r)
    assert r["energy_total_j"] > 0 and r["avg_power_w"] > 0
    assert abs(r["energy_total_j"] - r["avg_power_w"] * r["total_time_s"]) < 0.02 * r["energy_total_j"]
    assert abs(r["latency_per_loop_ms"] - r["total_time_s"] * 1e3 / r["num_loops"]) < 0.02 * r["latency_per_loop_ms"]
    assert r["num_power_samples"] > 0
assert len({r["layer_idx"] for r in results}) == 9
# one layer alone, not on top of all the earlier ones: the last block takes no longer than several times the first
first, last = results[1]["latency_per_loop_ms"], results[6]["latency_per_loop_ms"]
assert last < 4 * first, (first, last)
