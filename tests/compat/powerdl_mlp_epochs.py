"""Several epochs, and two trainings in one session: sums must agree."""

import torch
import torch.nn.functional as F
from powerdl import profile_torch


class MLP(torch.nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(20, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, 3))

    def forward(self, x):
        return self.net(x)


torch.manual_seed(0)
x, y = torch.randn(50, 20), torch.randint(0, 3, (50,))
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=16)

with profile_torch(interval_s=0.01, amp=False, verbose=0) as p:
    for hidden in (16, 64):
        model = MLP(hidden).to("cuda")
        p.train(model, loader, torch.optim.Adam(model.parameters(), 1e-2), F.cross_entropy, epochs=3)
    rep = p.report()

s = rep.summary
assert len(s["epoch_energies"]) == 6, "both trainings count, three epochs each"
assert len(s["batch_rows"]) == 6 * 4
per_epoch = sum(e["energy_j"] for e in s["epoch_energies"])
per_batch = sum(b["energy_j"] for b in s["batch_rows"])
assert abs(per_epoch - per_batch) <= 0.02 * per_epoch, (per_epoch, per_batch)
assert abs(per_epoch - s["train_energy_j"]) <= 0.05 * s["train_energy_j"] + 0.5, (per_epoch, s["train_energy_j"])
assert {b["batch_size"] for b in s["batch_rows"]} == {16, 2}
for b in s["batch_rows"]:
    assert b["energy_j"] > 0, "a batch shorter than the interval has energy too"
    assert abs(b["throughput_img_s"] - b["batch_size"] / b["time_s"]) < 0.01 * b["throughput_img_s"]
    assert abs(b["avg_power_w"] * b["time_s"] - b["energy_j"]) < 0.01 * b["energy_j"]
for e in s["epoch_energies"]:
    assert set(e) >= {"epoch", "energy_j", "time_s", "avg_power_w"}
names = list(rep.marks_df["name"])
assert names[0] == "session_start" and names.count("train_start") == names.count("train_end") == 2
print(s["gpu_name"], "%.2f J" % s["train_energy_j"])
