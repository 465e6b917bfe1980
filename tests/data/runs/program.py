"""The three programs whose recordings lie here; make.sh runs them.

    program.py llama     train a Llama of 8 blocks, then let it write
    program.py cnn       train a ResNet-50 on batches that a DataLoader brings
    program.py pair      (torchrun, two processes) train one MLP on two GPUs; the second one's data come late

None tells its steps: they are found, as batches of the loader and as parts of `generate`.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator

import joulemap
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, Dataset

TOKENS, WORDS = 1024, 8192


class Texts(Dataset[dict[str, Tensor]]):
    """Random texts."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> dict[str, Tensor]:
        return {"input_ids": torch.randint(WORDS, (TOKENS,))}


class Images(Dataset[tuple[Tensor, int]]):
    """Random images, which take a while to "decode"."""

    def __init__(self, count: int, seconds: float) -> None:
        self.count, self.seconds = count, seconds
        self.image = torch.randn(3, 224, 224)

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        time.sleep(self.seconds)
        return self.image, index % 1000


def llama() -> None:
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=WORDS, hidden_size=2048, intermediate_size=5632, num_hidden_layers=8, num_attention_heads=16
    )
    model = LlamaForCausalLM(config).to("cuda", torch.bfloat16)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    with joulemap.Session() as run:
        run.watch(model)
        with run.phase("train"):
            for batch in DataLoader(Texts(8 * 50), batch_size=8):
                ids = batch["input_ids"].to("cuda")
                loss = model(input_ids=ids, labels=ids).loss
                loss.backward()
                optimizer.step()
                optimizer.zero_grad()
            torch.cuda.synchronize()
        model.eval()
        with run.phase("write"):
            prompts = torch.randint(WORDS, (8, 512), device="cuda")
            mask = torch.ones_like(prompts)
            model.generate(
                input_ids=prompts, attention_mask=mask, max_new_tokens=48, min_new_tokens=48, do_sample=False
            )
            torch.cuda.synchronize()


def cnn() -> None:
    from torchvision.models import resnet50

    model = resnet50(weights=None).to("cuda", memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    loader = DataLoader(Images(128 * 50, seconds=0.002), batch_size=128, num_workers=3, pin_memory=True)
    with joulemap.Session() as run:
        run.watch(model)
        with run.phase("train"):
            for images, labels in loader:
                images = images.to("cuda", memory_format=torch.channels_last)
                labels = labels.to("cuda")
                with torch.autocast("cuda", dtype=torch.bfloat16):
                    loss = cross_entropy(model(images), labels)
                loss.backward()
                optimizer.step()
                optimizer.zero_grad()
                loss.item()


def slow(batches: DataLoader[Tensor], seconds: float) -> Iterator[Tensor]:
    for batch in batches:
        time.sleep(seconds)
        yield batch


def pair() -> None:
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl")
    width = 4096
    blocks = [nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)) for _ in range(4)]
    model = DistributedDataParallel(nn.Sequential(*blocks).to("cuda", torch.bfloat16))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    loader = DataLoader(torch.randn(2048 * 80, 64), batch_size=2048)
    spread = torch.randn(64, width, device="cuda", dtype=torch.bfloat16)
    with joulemap.Session() as run:
        run.watch(model)
        with run.phase("train"):
            for batch in slow(loader, 0.01 * rank):
                x = batch.to("cuda", torch.bfloat16) @ spread
                (model(x) - x).square().mean().backward()
                optimizer.step()
                optimizer.zero_grad()
            torch.cuda.synchronize()
    dist.destroy_process_group()


if __name__ == "__main__":
    {"llama": llama, "cnn": cnn, "pair": pair}[sys.argv[1]]()
