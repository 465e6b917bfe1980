"""What distributed.py runs in two processes, over gloo: `distributed_program.py KIND`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

import joulemap
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh

WIDTH, BATCH, STEPS = 16, 4, 3


def model() -> nn.Sequential:
    """Two layers of 16 x 16 without bias: 1 KiB of weights each."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(WIDTH, WIDTH, bias=False), nn.ReLU(), nn.Linear(WIDTH, WIDTH, bias=False))


def direct(run: joulemap.Session) -> None:
    """Each call once or twice, in the world and in a group of one's own."""
    whole = torch.ones(1024)  # 4 KiB
    alone = dist.new_group([dist.get_rank()], use_local_synchronization=True, group_desc="own")
    dist.all_reduce(whole)
    dist.all_reduce(whole, async_op=True).wait()
    dist.broadcast(whole[:256], src=0)
    dist.all_gather_into_tensor(torch.empty(512), torch.ones(256))
    dist.reduce_scatter_tensor(torch.empty(128), torch.ones(256))
    dist.all_to_all_single(torch.empty(64), torch.ones(64))
    dist.all_reduce(torch.ones(8), group=alone)
    dist.barrier()


def ddp(run: joulemap.Session) -> None:
    """What its reducer calls is C++: nothing of it is a span."""
    net = nn.parallel.DistributedDataParallel(model())
    for _ in range(STEPS):
        with run.step():
            net(torch.ones(BATCH, WIDTH)).sum().backward()


def fsdp(run: joulemap.Session) -> None:
    """Each layer gathered in forward and in backward, and its gradients reduced."""
    from torch.distributed.fsdp import fully_shard

    net = model()
    mesh = init_device_mesh("cpu", (2,), mesh_dim_names=("dp",))
    for layer in (net[0], net[2]):
        fully_shard(layer, mesh=mesh)
    for _ in range(STEPS):
        with run.step():
            net(torch.ones(BATCH, WIDTH)).sum().backward()


def tensor_parallel(run: joulemap.Session) -> None:
    """A product by columns and one by rows: one all-reduce of the result."""
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    mesh = init_device_mesh("cpu", (2,), mesh_dim_names=("tp",))
    net = parallelize_module(model(), mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
    for _ in range(STEPS):
        with run.step(), torch.no_grad():
            net(torch.ones(BATCH, WIDTH))


def pipeline(run: joulemap.Session) -> None:
    """Activations from rank 0 to 1, and gradients back."""
    sent = torch.ones(BATCH, WIDTH)  # 256 bytes
    for _ in range(STEPS):
        with run.step():
            if dist.get_rank() == 0:
                dist.send(sent, 1)
                dist.recv(sent, 1)
            else:
                dist.recv(sent, 0)
                dist.batch_isend_irecv([dist.P2POp(dist.isend, sent, 0)])[0].wait()


KINDS: dict[str, Callable[[joulemap.Session], None]] = {
    "direct": direct,
    "ddp": ddp,
    "fsdp": fsdp,
    "tensor_parallel": tensor_parallel,
    "pipeline": pipeline,
}

if __name__ == "__main__":
    dist.init_process_group("gloo")
    with joulemap.Session() as session:
        KINDS[sys.argv[1]](session)
    dist.destroy_process_group()
    # A thread of gloo may still let go of the last collective. If Python ends meanwhile, that ends the process with
    # "terminate called without an active exception", without joulemap as well: github.com/pytorch/pytorch/pull/179291.
    os._exit(0)
