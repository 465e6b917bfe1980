"""Rows at intervals, from a process beside the program."""

import csv
import time

import torch
from measurement import AsynchronousMeasurementTool

tracker = AsynchronousMeasurementTool(out_file="test_asynchronous_measurement_tool.csv", gpu_num=0)
tracker.start(0.25)
a = torch.randn(256, 256).cuda()
end = time.time() + 1.1
while time.time() < end:
    a = torch.tanh(a @ a)
tracker.stop()

with open("test_asynchronous_measurement_tool.csv", newline="") as file:
    header, *rows = csv.reader(file)
assert header[:8] == [
    "elapsed time (s)",
    "CPU energy (kWh)",
    "CPU utilisation (%)",
    "CPU temp (C)",
    "GPU energy (kWh)",
    "GPU utilisation (%)",
    "GPU temp (C)",
    "GPU power (W)",
]
assert len(rows) >= 5, rows
times = [float(row[0]) for row in rows]
assert times[:4] == [0.25, 0.5, 0.75, 1.0]
assert 1.1 <= times[-1] < 3
energies = [float(row[4]) for row in rows]
assert energies == sorted(energies)
assert all(float(row[7]) > 0 for row in rows)
