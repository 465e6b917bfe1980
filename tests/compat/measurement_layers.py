"""Mean joules of each layer, in training and then in inference."""

import csv

import torch
from measurement import LayerwiseMeasurementTool
from torch import nn

model = nn.Sequential(
    nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(inplace=True), nn.Flatten(), nn.Linear(8 * 32 * 32, 10)
)
model = model.to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)


def train():
    for _ in range(30):
        x, y = torch.randn(16, 3, 32, 32, device="cuda"), torch.randint(0, 10, (16,), device="cuda")
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()


def infer():
    with torch.inference_mode():
        for _ in range(30):
            model(torch.randn(16, 3, 32, 32, device="cuda"))


for run, name in ((train, "train.csv"), (infer, "infer.csv")):
    tracker = LayerwiseMeasurementTool(name, 0)
    model = tracker.start(model)
    run()
    tracker.stop()
    with open(name, newline="") as file:
        joules = {row["layer"]: float(row["mean energy (J)"]) for row in csv.DictReader(file)}
    assert set(joules) == {"Sequential", "0", "1", "2", "3", "4"}
    assert joules["0"] > 0
    assert joules["4"] > 0
assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())
