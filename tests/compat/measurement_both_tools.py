"""Two tools at a time: the log beside the total of the same work; the same tool twice."""

import os
import time

import torch
from measurement import AsynchronousMeasurementTool, EnergyMeasurementTool


def work(seconds):
    end = time.monotonic() + seconds
    m = torch.rand(128, 128, device="cuda")
    while time.monotonic() < end:
        m = (m @ m).sigmoid()
    return m.mean().item()


def main():
    os.makedirs("results", exist_ok=True)
    total = EnergyMeasurementTool(os.path.join("results", "total.csv"), 0)
    log = AsynchronousMeasurementTool(os.path.join("results", "log.csv"), 0)
    log.start(interval=0.2)
    time.sleep(0.3)
    total.start()
    work(0.5)
    total.stop()
    log.stop()
    rows = open("results/total.csv").read().splitlines()
    assert len(rows) == 2
    seconds = float(rows[1].split(",")[0])
    assert 0.45 < seconds < 5
    logged = open("results/log.csv").read().splitlines()
    assert len(logged) >= 3
    watts = [float(line.split(",")[7]) for line in logged[1:]]
    mean = float(rows[1].split(",")[2]) * 3.6e6 / seconds
    assert min(watts) * 0.3 < mean < max(watts) * 3, (mean, watts)
    total.start()
    work(0.1)
    total.stop()
    assert len(open("results/total.csv").read().splitlines()) == 3


if __name__ == "__main__":
    main()
