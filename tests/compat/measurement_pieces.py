"""A row a piece: epochs of training and test."""

import torch
from measurement import EnergyMeasurementTool
from torch import nn

device = "cuda"
num_epochs = 2
model = nn.Sequential(nn.Flatten(), nn.Linear(3 * 32 * 32, 64), nn.ReLU(), nn.Linear(64, 10)).to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=0.001)
criterion = nn.CrossEntropyLoss()


def batches(count: int):
    for _ in range(count):
        yield torch.randn(64, 3, 32, 32), torch.randint(0, 10, (64,))


def train():
    model.train()
    for inputs, targets in batches(20):
        inputs, targets = inputs.to(device), targets.to(device)
        optimizer.zero_grad()
        criterion(model(inputs), targets).backward()
        optimizer.step()


def test():
    model.eval()
    with torch.no_grad():
        for inputs, _ in batches(5):
            model(inputs.to(device))


tracker = EnergyMeasurementTool(out_file="test_energy_measurement_tool.csv", gpu_num=0)
for epoch in range(num_epochs):
    tracker.start()
    train()
    test()
    tracker.stop()

with open("test_energy_measurement_tool.csv") as file:
    rows = [line.split(",") for line in file.read().splitlines()]
assert rows[0][:3] == ["elapsed time (s)", "CPU energy (kWh)", "GPU energy (kWh)"]
assert len(rows) == 1 + num_epochs
assert all(float(row[0]) > 0 and float(row[2]) > 0 for row in rows[1:])
tracker.start()  # never stopped: its row is written at exit
