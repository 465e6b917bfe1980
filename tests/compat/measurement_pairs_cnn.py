"""Energy of training and of evaluation, a pair of start and stop each."""

import csv

import torch
import torch.nn as nn
from measurement import EnergyMeasurementTool

net = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 26 * 26, 10)).to("cuda")
opt = torch.optim.SGD(net.parameters(), lr=0.01)
tool = EnergyMeasurementTool("energy.csv", gpu_num=0)
for epoch in range(3):
    tool.start()
    for _ in range(10):
        opt.zero_grad()
        nn.functional.cross_entropy(
            net(torch.randn(16, 1, 28, 28).cuda()), torch.randint(0, 10, (16,)).cuda()
        ).backward()
        opt.step()
    tool.stop()
with open("energy.csv", newline="") as f:
    rows = [[cell.strip() for cell in row] for row in csv.reader(f)]
assert rows[0][:3] == ["elapsed time (s)", "CPU energy (kWh)", "GPU energy (kWh)"], rows[0]
assert len(rows) == 4, "a row a pair"
for row in rows[1:]:
    seconds, joules = float(row[0]), float(row[2]) * 3.6e6
    assert 0 < seconds < 60
    assert 5 < joules / seconds < 1500, "W = J / s: %g" % (joules / seconds)
    assert row[1] == "" or float(row[1]) > 0
