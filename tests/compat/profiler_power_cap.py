"""The power-cap profiler on a CNN: as its README shows it, inference, training, and the caps by hand."""

import csv

import torch
from profiler import power_cap_profiler, reset_power_cap, set_power_cap
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
model = nn.Sequential(
    nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.Dropout(0.1), nn.Flatten(), nn.Linear(256, 10)
)
model = model.to("cuda")
data = TensorDataset(torch.randn(48, 3, 8, 8), torch.randint(0, 10, (48,)))
dataloader = DataLoader(data, batch_size=16, shuffle=True)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
loss_fn = nn.CrossEntropyLoss()

before = {name: value.clone() for name, value in model.state_dict().items()}
chance = torch.get_rng_state()

best = power_cap_profiler(model, dataloader, gpu_num=0, out_file="inference.csv")
assert isinstance(best, int)

trained = power_cap_profiler(model, dataloader, 0, True, loss_fn, optimizer, "training.csv")
assert isinstance(trained, int)

after = model.state_dict()
assert all(torch.equal(before[name], after[name]) for name in before)
assert len(optimizer.state) == 0
assert all(weight.grad is None for weight in model.parameters())
assert torch.equal(chance, torch.get_rng_state())

for name, cap in (("inference.csv", best), ("training.csv", trained)):
    with open(name) as file:
        header, *rows, last = list(csv.reader(file))
    assert header[:3] == ["power cap (mW)", "batches", "GPU energy (kWh)"], header
    assert len(rows) == 8, rows
    caps = [int(row[0]) for row in rows]
    assert caps == sorted(caps), caps
    assert all(int(row[1]) > 0 and float(row[2]) > 0 and float(row[3]) > 0 for row in rows)
    assert last == ["Modeled Optimal Cap:", str(cap)], last
    assert min(caps) <= 1000 * cap <= max(caps)

set_power_cap(0, best)
model(torch.randn(2, 3, 8, 8).to("cuda"))
reset_power_cap(0)
