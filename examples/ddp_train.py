"""Several processes train one model; one recording has the joules of all their GPUs.

joulemap record -o ddp.joulemap -- torchrun --standalone --nproc-per-node 2 examples/ddp_train.py
joulemap report ddp.joulemap
joulemap report ddp.joulemap --by board
"""

from __future__ import annotations

import argparse
import os

import joulemap
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=400)
    steps = parser.parse_args().steps
    cuda = torch.cuda.is_available()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    if not cuda:
        torch.set_num_threads(1)
    dist.init_process_group("nccl" if cuda else "gloo")
    net = nn.Sequential(nn.Linear(512, 2048), nn.GELU(), nn.Linear(2048, 512)).to(device)
    model = DistributedDataParallel(net)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    with joulemap.Session() as run:  # joins the recorder's run: no GPU is read twice
        run.watch(model)
        with run.phase("train"):
            for _ in range(steps):
                x = torch.randn(64, 512, device=device)
                with run.step(samples=len(x)):
                    loss = (model(x) - x).square().mean()
                    loss.backward()
                    optimizer.step()
                    optimizer.zero_grad()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
