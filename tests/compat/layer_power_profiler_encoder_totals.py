"""A transformer with nested blocks: its printed totals count every joule once."""

import contextlib
import io
import re

import torch
from layer_power_profiler import LayerPowerProfiler
from torch import nn


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(1000, 64)
        self.blocks = nn.ModuleList(nn.TransformerEncoderLayer(64, 4, 128, batch_first=True) for _ in range(3))
        self.head = nn.Linear(64, 2)

    def forward(self, input_ids, attention_mask=None):
        x = self.embed(input_ids)
        pad = None if attention_mask is None else attention_mask == 0
        for block in self.blocks:
            x = block(x, src_key_padding_mask=pad)
        return self.head(x[:, 0])


def figure(text, label):
    found = re.search(re.escape(label) + r"[^0-9\n]*([0-9.eE+-]+)", text)
    assert found, (label, text)
    return float(found.group(1))


model = Encoder().train().cuda()
batch = {
    "input_ids": torch.randint(0, 1000, (8, 32)).cuda(),
    "attention_mask": torch.ones(8, 32, dtype=torch.long).cuda(),
}
profiler = LayerPowerProfiler(model)
metrics = profiler.profile(batch, num_runs=2)
out = io.StringIO()
with contextlib.redirect_stdout(out):
    profiler.print_summary()
text = out.getvalue()
lines = text.splitlines()
assert "=" * 80 in lines
assert "PROFILING SUMMARY" in text
for label in (
    "Total Execution Time",
    "Total Energy Consumed",
    "Average Power Draw",
    "Top 10 Power Consumers",
    "Top 10 Time Consumers",
):
    assert label in text, label
ms, joules, watts = (
    (
        figure(text, label)
        for label in ("Total Execution Time (ms)", "Total Energy Consumed (J)", "Average Power Draw (W)")
    )
    if "Total Execution Time (ms)" in text
    else (figure(text, label) for label in ("Total Execution Time", "Total Energy Consumed", "Average Power Draw"))
)
assert abs(joules - watts * ms / 1e3) < 0.05 * joules + 0.01, (ms, joules, watts)
everything = sum(m.energy_j for m in metrics)  # containers and leaves
assert joules < everything * 1.01, "each joule once"
