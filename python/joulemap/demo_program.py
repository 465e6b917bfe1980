"""The program that `joulemap demo` records: a small transformer that learns to predict bytes.

The number and length of sequences change from step to step, so that a fit can separate the layers: the attention's
share of the time grows with the length, that of head and embedding with the number of tokens.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from dataclasses import dataclass

from joulemap import Session

EXIT_NOT_SUPPORTED = 69  # as of the command; 1 would mean that the demo missed the truth

try:
    import torch
    from torch import nn
except ImportError:
    print("joulemap demo needs PyTorch: pip install torch", file=sys.stderr)
    sys.exit(EXIT_NOT_SUPPORTED)

VOCABULARY = 4096
SEED = 20261120


@dataclass(frozen=True)
class Scale:
    """The size of the model and its batches.

    Attributes
    ----------
    width, heads, blocks : int
        Size of the transformer.
    shapes : tuple of (int, int)
        Sequences of a batch, and tokens of a sequence.
    """

    width: int
    heads: int
    blocks: int
    shapes: tuple[tuple[int, int], ...]


SCALES = {
    "cpu": Scale(256, 4, 3, ((24, 32), (4, 512), (8, 128), (2, 1024), (48, 16), (6, 256), (16, 96))),
    "cuda": Scale(1024, 16, 8, ((64, 128), (8, 1024), (32, 256), (4, 2048), (128, 64), (16, 512))),
}


class Attention(nn.Module):
    """Causal self-attention: (batch, length, width) to the same shape."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Mix each position with earlier positions."""
        batch, length, width = x.shape
        parts = self.qkv(x).view(batch, length, 3, self.heads, width // self.heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        y: torch.Tensor = self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        return y


class Block(nn.Module):
    """One layer of the transformer."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attn = Attention(width, heads)
        self.norm2 = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.act = nn.GELU()
        self.down = nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Apply attention, then the MLP."""
        x = x + self.attn(self.norm1(x))
        y: torch.Tensor = x + self.down(self.act(self.up(self.norm2(x))))
        return y


class Transformer(nn.Module):
    """Predicts each next token; returns the loss."""

    def __init__(self, scale: Scale) -> None:
        super().__init__()
        longest = max(length for _, length in scale.shapes)
        self.tokens = nn.Embedding(VOCABULARY, scale.width)
        self.positions = nn.Embedding(longest, scale.width)
        self.blocks = nn.Sequential(*(Block(scale.width, scale.heads) for _ in range(scale.blocks)))
        self.norm = nn.LayerNorm(scale.width)
        self.head = nn.Linear(scale.width, VOCABULARY)
        self.loss = nn.CrossEntropyLoss()

    def forward(self, text: torch.Tensor) -> torch.Tensor:
        """Return the mean loss of token numbers of shape (batch, length + 1)."""
        inputs, targets = text[:, :-1], text[:, 1:]
        positions = torch.arange(inputs.shape[1], device=inputs.device)
        x = self.blocks(self.tokens(inputs) + self.positions(positions))
        loss: torch.Tensor = self.loss(self.head(self.norm(x)).flatten(0, 1), targets.flatten())
        return loss


def batches(scale: Scale, device: str) -> itertools.chain[torch.Tensor]:
    """Yield batches of random text for ever: rounds of all shapes in random order."""
    random = torch.Generator().manual_seed(SEED)

    def one_round() -> list[torch.Tensor]:
        shapes = [scale.shapes[i] for i in torch.randperm(len(scale.shapes), generator=random)]
        return [torch.randint(VOCABULARY, (count, length + 1), generator=random).to(device) for count, length in shapes]

    return itertools.chain.from_iterable(one_round() for _ in itertools.count())


def precision(device: str) -> torch.autocast:
    """Return the context of one step: bf16 on a GPU, fp32 on the CPU."""
    return torch.autocast(device, torch.bfloat16, enabled=device == "cuda")


def train(run: Session, model: nn.Module, scale: Scale, device: str, seconds: float) -> int:
    """Train for about `seconds`; return the number of steps."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    end_s = time.monotonic() + seconds
    steps = 0
    for batch in batches(scale, device):
        if time.monotonic() > end_s:
            break
        with run.step(samples=len(batch)), precision(device):
            loss = model(batch)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        steps += 1
    return steps


def main() -> None:
    """Train, then validate."""
    parser = argparse.ArgumentParser(prog="python -m joulemap.demo_program", description=__doc__)
    parser.add_argument("--device", choices=sorted(SCALES), default="cpu")
    parser.add_argument("--seconds", type=float, default=20.0)
    options = parser.parse_args()
    if options.device == "cuda" and not torch.cuda.is_available():
        print(
            f"joulemap demo: PyTorch {torch.__version__} cannot use the GPU; install a build for CUDA, "
            "or run the demo on the simulated GPU: joulemap demo --sim h200",
            file=sys.stderr,
        )
        sys.exit(EXIT_NOT_SUPPORTED)
    torch.manual_seed(SEED)
    scale = SCALES[options.device]
    model = Transformer(scale).to(options.device)
    with Session() as run:
        run.watch(model)
        with run.phase("train"):
            train(run, model, scale, options.device, 0.85 * options.seconds)
        end_s = time.monotonic() + 0.15 * options.seconds
        with run.phase("validate"), torch.no_grad():
            for batch in batches(scale, options.device):
                if time.monotonic() > end_s:
                    break
                with run.step(samples=len(batch)), precision(options.device):
                    model(batch)
        if options.device == "cuda":
            torch.cuda.synchronize()


if __name__ == "__main__":
    main()
