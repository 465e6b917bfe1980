#!/usr/bin/env python3
"""Compares two architectures from the command line, as people do: one CSV each, then a verdict."""

import argparse
import os

import torch
from layer_power_profiler import LayerPowerProfiler
from torch import nn


def wide():
    return nn.Sequential(nn.Conv2d(1, 32, 5), nn.ReLU(), nn.Flatten(), nn.Linear(32 * 12 * 12, 10))


def deep():
    layers, channels = [], 1
    for out in (4, 8, 8):
        layers += [nn.Conv2d(channels, out, 3, padding=1), nn.BatchNorm2d(out), nn.ReLU()]
        channels = out
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 10))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--out", default="profiles")
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)
    energy = {}
    for build in (wide, deep):
        model = build().to("cuda")
        with torch.no_grad():
            profiler = LayerPowerProfiler(model)
            metrics = profiler.profile(torch.rand(16, 1, 16, 16, device="cuda"), num_runs=args.runs)
        name = os.path.join(args.out, build.__name__ + ".csv")
        profiler.save_results(name)
        assert os.path.getsize(name) > 100
        assert os.path.exists(os.path.join(args.out, build.__name__ + "_top10.csv"))
        # the children of a Sequential, without itself
        flat = [m for m in metrics if m.layer_name.isdigit()]
        assert len(flat) == args.runs * len(model)
        energy[build.__name__] = sum(m.energy_j for m in flat)
    assert all(e > 0 for e in energy.values())
    print("less energy:", min(energy, key=energy.get))
