"""Table, bar charts and CSV of a small model of the user's own."""

import contextlib
import glob
import io
import re

import matplotlib

matplotlib.use("Agg")
import torch
from layer_energy_profiler import LayerEnergyProfiler, visualize_layer_energy
from torch import nn


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(64, 32)
        self.encoder = nn.TransformerEncoderLayer(32, 2, 64, batch_first=True)
        self.head = nn.Linear(32, 2)

    def forward(self, input_ids, attention_mask=None):
        x = self.encoder(self.embedding(input_ids))
        return self.head(x.mean(1))


ids = torch.randint(0, 64, (4, 12)).cuda()
results = LayerEnergyProfiler(Classifier().cuda().eval()).profile_all_layers(
    ids, torch.ones_like(ids), batch_size=4, num_loops=3
)
before = set(glob.glob("**/*", recursive=True))
out = io.StringIO()
with contextlib.redirect_stdout(out):
    visualize_layer_energy(results)
table = out.getvalue()
print(table)
for r in results:
    assert r["layer_name"] in table
new = set(glob.glob("**/*", recursive=True)) - before
assert any(f.endswith(".png") for f in new), new
assert any(f.endswith(".csv") for f in new), new
# joulemap's table: a column named "%"; "1.2 %" behind a figure is its interval
rows = [re.sub(r"[0-9.]+ %", "interval", line).split() for line in table.splitlines()]
column = next(row for row in rows if row and row[0] == "layer").index("%")
parts = [float(row[column]) for row in rows if row and row[0] in {r["layer_name"] for r in results}]
assert len(parts) == 3 and abs(sum(parts) - 100) < 0.05, parts
