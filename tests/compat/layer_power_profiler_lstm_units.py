"""An LSTM over tokens. Checks the fields of each LayerMetrics and their units."""

import torch
import torch.nn as nn
from layer_power_profiler import LayerMetrics, LayerPowerProfiler


class Tagger(nn.Module):
    def __init__(self, vocab=500, dim=32, tags=7):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.lstm = nn.LSTM(dim, 48, num_layers=2, batch_first=True, bidirectional=True)
        self.out = nn.Linear(96, tags)

    def forward(self, tokens):
        states, _ = self.lstm(self.embed(tokens))
        return self.out(states)


tokens = torch.randint(0, 500, (4, 24)).to("cuda")
profiler = LayerPowerProfiler(Tagger().to("cuda"))
metrics = profiler.profile(tokens, num_runs=4, warmup=False)

keys = [
    "layer_name",
    "exec_id",
    "start_time",
    "end_time",
    "duration_ms",
    "start_power_w",
    "end_power_w",
    "avg_power_w",
    "energy_j",
]
pairs = set()
for m in metrics:
    assert isinstance(m, LayerMetrics)
    d = m.to_dict()
    assert list(d)[:9] == keys
    assert d["energy_j"] == m.energy_j and d["layer_name"] == m.layer_name
    assert m.duration_ms > 0 and m.avg_power_w > 0
    if m.layer_name in ("embed", "out"):  # watts times seconds, at most: between two kernels nothing runs
        assert m.energy_j <= 1.02 * m.avg_power_w * m.duration_ms / 1e3 + 1e-9
    pairs.add((m.layer_name, m.exec_id))
assert len(pairs) == len(metrics), "an execution is known by its layer and its number"
assert sum(m.layer_name == "lstm" for m in metrics) == 4

made = LayerMetrics("fc", 0, 1.0, 1.5, 500.0, 100.0, 120.0, 110.0, 55.0)
assert made.to_dict()["energy_j"] == 55.0
assert (
    LayerMetrics(
        layer_name="a",
        exec_id=1,
        start_time=0.0,
        end_time=1.0,
        duration_ms=1e3,
        start_power_w=1.0,
        end_power_w=1.0,
        avg_power_w=1.0,
        energy_j=1.0,
    ).avg_power_w
    == 1.0
)
