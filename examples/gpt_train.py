"""Train a model of GPT-2 small's shape on synthetic tokens, and show where the joules went.

    python examples/gpt_train.py
    joulemap record -o gpt.joulemap -- python examples/gpt_train.py --seconds 30
    JOULEMAP_SIM=h200 python examples/gpt_train.py      # no GPU: the simulated board, a tiny model

On CUDA: 12 blocks of width 768 with 12 heads, 50304 tokens, bf16 autocast (--dtype fp32: without), fused AdamW.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass

import joulemap
import torch
from torch import Tensor, nn
from torch.nn import functional


@dataclass(frozen=True)
class Shape:
    """The sizes of the model."""

    blocks: int
    width: int
    heads: int
    vocabulary: int


GPT2_SMALL = Shape(blocks=12, width=768, heads=12, vocabulary=50304)
TINY = Shape(blocks=4, width=256, heads=4, vocabulary=2048)


class Attention(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.heads = shape.heads
        self.qkv = nn.Linear(shape.width, 3 * shape.width)
        self.proj = nn.Linear(shape.width, shape.width)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        q, k, v = (
            part.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
            for part in self.qkv(x).split(width, dim=2)
        )
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        out: Tensor = self.proj(mixed.transpose(1, 2).reshape(batch, length, width))
        return out


class MLP(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.fc = nn.Linear(shape.width, 4 * shape.width)
        self.gelu = nn.GELU(approximate="tanh")
        self.proj = nn.Linear(4 * shape.width, shape.width)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.proj(self.gelu(self.fc(x)))
        return out


class Block(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.ln_1 = nn.LayerNorm(shape.width)
        self.attn = Attention(shape)
        self.ln_2 = nn.LayerNorm(shape.width)
        self.mlp = MLP(shape)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attn(self.ln_1(x))
        out: Tensor = x + self.mlp(self.ln_2(x))
        return out


class GPT(nn.Module):
    def __init__(self, shape: Shape, length: int) -> None:
        super().__init__()
        self.wte = nn.Embedding(shape.vocabulary, shape.width)
        self.wpe = nn.Embedding(length, shape.width)
        self.blocks = nn.ModuleList(Block(shape) for _ in range(shape.blocks))
        self.ln_f = nn.LayerNorm(shape.width)
        self.head = nn.Linear(shape.width, shape.vocabulary, bias=False)
        self.apply(self.initialise)
        self.head.weight = self.wte.weight

    @staticmethod
    def initialise(module: nn.Module) -> None:
        if isinstance(module, nn.Linear | nn.Embedding):
            nn.init.normal_(module.weight, std=0.02)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)

    def forward(self, tokens: Tensor) -> Tensor:
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.wte(tokens) + self.wpe(positions)
        for block in self.blocks:
            x = block(x)
        logits: Tensor = self.head(self.ln_f(x))
        return logits


def parse_arguments(cuda: bool) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=0, help="optimizer steps (default: as many as fit --seconds)")
    parser.add_argument("--seconds", type=float, default=20.0, help="how long to train when --steps is not given")
    parser.add_argument("--batch", type=int, default=16 if cuda else 4, help="sequences in a batch")
    parser.add_argument("--seq", type=int, default=1024 if cuda else 128, help="tokens in a sequence")
    parser.add_argument("--dtype", choices=["bf16", "fp32"], default="bf16" if cuda else "fp32", help="of products")
    parser.add_argument("--rows", type=int, default=40, help="rows of the table to print")
    parser.add_argument("--sim", help="simulated board (h200), instead of the machine's own")
    parser.add_argument("--out", help="write the recording to this file")
    return parser.parse_args()


def main() -> None:
    cuda = torch.cuda.is_available()
    args = parse_arguments(cuda)
    device = torch.device("cuda" if cuda else "cpu")
    shape = GPT2_SMALL if cuda else TINY
    torch.manual_seed(0)
    torch.set_float32_matmul_precision("high")
    model = GPT(shape, args.seq).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, fused=cuda)
    tokens = torch.randint(shape.vocabulary, (8, args.batch, args.seq + 1), device=device)

    def train_step(run: joulemap.Session, step: int) -> Tensor:
        batch = tokens[step % len(tokens)]
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=args.dtype == "bf16"), run.phase("forward"):
            logits = model(batch[:, :-1])
            loss = functional.cross_entropy(logits.flatten(0, 1).float(), batch[:, 1:].flatten())
        with run.phase("backward"):
            loss.backward()
        with run.phase("optimizer"):
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        return loss.detach()

    with joulemap.Session(path=args.out, sim=args.sim, overwrite=True) as run:
        run.watch(model)
        with run.phase("warmup"):
            for step in range(3):
                loss = train_step(run, step)
            loss.item()
        done = 0
        begin = time.monotonic()
        with run.phase("train"):
            while done < args.steps if args.steps else time.monotonic() - begin < args.seconds:
                with run.step(samples=args.batch, tokens=args.batch * args.seq):
                    loss = train_step(run, done)
                done += 1
                if not args.steps and done % 10 == 0:
                    loss.item()  # wait for the GPU: launches alone return too early
            loss.item()
        seconds = time.monotonic() - begin
        report = run.report(by="layer", phase="train")
    parameters = sum(weight.numel() for weight in model.parameters())
    print(f"{parameters / 1e6:.1f} M parameters on {device}: {done} steps in {seconds:.2f} s, loss {loss.item():.3f}")
    totals = report.totals
    if totals.total_energy_j is not None and totals.tokens:
        print(f"{totals.tokens / totals.total_energy_j:.1f} tokens a joule")
    print(report.table(limit=args.rows))


if __name__ == "__main__":
    main()
