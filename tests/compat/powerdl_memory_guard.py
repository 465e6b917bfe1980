"""max_samples with a flush folder: memory stays bounded and no joule is lost."""

import csv
import glob
import time

import torch
import torch.nn as nn
from powerdl.highlevel import profile_torch


class Slow(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 2)

    def forward(self, x):
        time.sleep(0.02)
        return self.fc(x)


loader = [(torch.randn(4, 8), torch.randint(0, 2, (4,))) for _ in range(12)]
model = Slow().cuda()
opt = torch.optim.SGD(model.parameters(), 0.1)


def run(**options):
    with profile_torch(interval_s=0.005, amp=False, **options) as prof:
        prof.train(model, loader, opt, nn.CrossEntropyLoss(), epochs=2)
        return prof.report()


guarded = run(
    max_samples=20, auto_flush_dir="flushed", auto_flush_prefix="night", auto_flush_keep_marks=True, warn_at_pct=0.9
)
free = run()
written = glob.glob("flushed/night*")
assert written, "nothing was flushed"
rows = 0
for name in written:
    if name.endswith("samples.csv"):
        with open(name, newline="") as f:
            table = list(csv.DictReader(f))
        assert all(float(r["p_w"]) > 0 for r in table if r["p_w"])
        rows += len(table)
assert rows > 0
a, b = guarded.summary, free.summary
assert len(a["batch_rows"]) == len(b["batch_rows"]) == 24
assert len(a["epoch_energies"]) == 2
total = sum(r["energy_j"] for r in a["batch_rows"])
assert abs(total - sum(e["energy_j"] for e in a["epoch_energies"])) < 0.02 * total
assert 0.5 < a["train_energy_j"] / b["train_energy_j"] * b["train_time_s"] / a["train_time_s"] < 2
print("flushed", rows, "samples into", len(written), "files")
