"""DistilBERT from a tiny configuration (no download), inputs as a tokenizer gives them."""

import torch
from layer_power_profiler import LayerPowerProfiler
from transformers import BatchEncoding, DistilBertConfig, DistilBertForSequenceClassification

config = DistilBertConfig(vocab_size=200, dim=32, n_layers=2, n_heads=2, hidden_dim=64, max_position_embeddings=64)
model = DistilBertForSequenceClassification(config).to("cuda").eval()
inputs = BatchEncoding(
    {"input_ids": torch.randint(0, 200, (2, 16)), "attention_mask": torch.ones(2, 16, dtype=torch.long)}
)
inputs = inputs.to("cuda")

profiler = LayerPowerProfiler(model, device_index=0)
metrics = profiler.profile(inputs, num_runs=1, warmup=True)
profiler.save_results("distilbert.csv")
profiler.print_summary()

names = [m.layer_name for m in metrics]
assert any("q_lin" in n for n in names)
assert "classifier" in names
df = profiler.get_results_dataframe()
attention = df[df["layer_name"].str.contains("attention.*lin")]  # a Dropout in inference takes nothing
print("attention: %.4f ms in %d rows" % (attention["duration_ms"].sum(), len(attention)))
assert len(attention) and (attention["energy_j"] > 0).all()
top = open("distilbert_top10.csv").read().splitlines()
assert 2 <= len(top) <= 11
