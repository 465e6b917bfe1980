"""Which power cap saves most on a training: try a few, prove the best, restore everything.

python examples/power_cap.py                      # as root, or with a rule of sudo (docs/caps.md)
JOULEMAP_SIM=h200 python examples/power_cap.py    # without a GPU
"""

from __future__ import annotations

import argparse

import joulemap.caps
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--seconds", type=float, default=4.0, help="of each trial")
    seconds = options.parse_args().seconds
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = nn.Sequential(nn.Linear(512, 2048), nn.GELU(), nn.Linear(2048, 10)).to(device)
    data = TensorDataset(torch.randn(20000, 512), torch.randint(10, (20000,)))
    loader = DataLoader(data, batch_size=256, shuffle=True)
    optimizer = torch.optim.AdamW(model.parameters())

    found = joulemap.caps.search(
        model,
        loader,
        train=True,
        loss_fn=nn.functional.cross_entropy,
        optimizer=optimizer,
        max_slowdown=0.05,
        settle_s=0.25 * seconds,
        window_s=0.75 * seconds,
        progress=True,
    )
    print(found)
    found.to_json("cap.json")  # joulemap plot cap.json --figure power_cap -o cap.png

    with joulemap.caps.lease() as lease:  # afterwards the earlier cap is restored, also after a crash
        lease.set(found.cap_w)
        for x, labels in loader:
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x.to(device)), labels.to(device)).backward()
            optimizer.step()


if __name__ == "__main__":
    main()
