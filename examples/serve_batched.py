"""A server that answers many requests at once, and reports the energy of each.

    joulemap record -o batched.joulemap -- python examples/serve_batched.py --requests 40
    joulemap report batched.joulemap --by request --depth 1

As in vLLM and SGLang, requests join and leave the batch as it goes (continuous batching) and their keys and values lie
in pages (PagedAttention); here all of it is plain PyTorch. Weights are random. It plays its own clients.
"""

from __future__ import annotations

import argparse
import random
from collections import deque
from dataclasses import dataclass, field

import joulemap
import torch
from torch import Tensor, nn
from torch.nn.functional import rms_norm, scaled_dot_product_attention, silu


@dataclass(frozen=True)
class Config:
    """Sizes of a Llama-like model; the defaults suit a laptop."""

    width: int = 128
    layers: int = 4
    heads: int = 4
    kv_heads: int = 2
    inner: int = 384
    vocabulary: int = 1000


class PagedCache:
    """Keys and values of all layers, in pages of 16 tokens that sequences take and return."""

    page = 16

    def __init__(self, config: Config, pages: int, device: str = "cpu", dtype: torch.dtype = torch.float32) -> None:
        shape = (config.layers, 2, pages * self.page, config.kv_heads, config.width // config.heads)
        self.values = torch.zeros(shape, device=device, dtype=dtype)
        self.free = list(range(pages))

    def grow(self, pages: list[int], tokens: int) -> bool:
        """Add pages until there is room for so many tokens; if too few are free, add none and return False."""
        missing = -(-tokens // self.page) - len(pages)
        if missing > len(self.free):
            return False
        pages.extend(self.free.pop() for _ in range(missing))
        return True

    def slots(self, tables: list[list[int]], length: int) -> Tensor:
        """Return slots of the first `length` tokens of each sequence, [sequences, length]; past its pages, page 0."""
        pages = torch.zeros(len(tables), -(-length // self.page), dtype=torch.long)
        for row, table in zip(pages, tables, strict=True):
            count = min(len(table), len(row))
            row[:count] = torch.tensor(table[:count], dtype=torch.long)
        slots = pages[:, :, None] * self.page + torch.arange(self.page)
        return slots.flatten(1)[:, :length].to(self.values.device)


def turn(x: Tensor, positions: Tensor) -> Tensor:
    """Rotary embedding; x is [sequences, heads, tokens, dimensions]."""
    half = x.shape[-1] // 2
    speed = 10000.0 ** (-torch.arange(half, device=x.device) / half)
    angle = positions[:, None, :, None] * speed
    sine, cosine = angle.sin().to(x.dtype), angle.cos().to(x.dtype)
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * cosine - b * sine, b * cosine + a * sine], dim=-1)


class Attention(nn.Module):
    """Attention of the fed tokens to all tokens of their sequence, which are in pages."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.heads, self.kv_heads = config.heads, config.kv_heads
        size = config.width // config.heads
        self.qkv = nn.Linear(config.width, (config.heads + 2 * config.kv_heads) * size, bias=False)
        self.out = nn.Linear(config.width, config.width, bias=False)

    def forward(self, x: Tensor, positions: Tensor, cache: Tensor, slots: Tensor) -> Tensor:
        sequences, tokens, width = x.shape
        parts = self.qkv(x).unflatten(-1, (self.heads + 2 * self.kv_heads, -1)).transpose(1, 2)
        query, key, value = parts.split([self.heads, self.kv_heads, self.kv_heads], dim=1)
        own = slots.gather(1, positions)
        cache[0, own] = turn(key, positions).transpose(1, 2)
        cache[1, own] = value.transpose(1, 2)
        share = self.heads // self.kv_heads
        keys, values = (each[slots].transpose(1, 2).repeat_interleave(share, dim=1) for each in cache)
        seen = torch.arange(slots.shape[1], device=x.device) <= positions[:, None, :, None]
        mixed = scaled_dot_product_attention(turn(query, positions), keys, values, attn_mask=seen)
        out: Tensor = self.out(mixed.transpose(1, 2).reshape(sequences, tokens, width))
        return out


class Block(nn.Module):
    """Attention and a gated MLP."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.attention = Attention(config)
        self.up = nn.Linear(config.width, 2 * config.inner, bias=False)
        self.down = nn.Linear(config.inner, config.width, bias=False)

    def forward(self, x: Tensor, positions: Tensor, cache: Tensor, slots: Tensor) -> Tensor:
        x = x + self.attention(rms_norm(x, x.shape[-1:]), positions, cache, slots)
        gate, up = self.up(rms_norm(x, x.shape[-1:])).chunk(2, dim=-1)
        out: Tensor = x + self.down(silu(gate) * up)
        return out


class Model(nn.Module):
    """A Llama-like model over a paged cache."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.embed = nn.Embedding(config.vocabulary, config.width)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.head = nn.Linear(config.width, config.vocabulary, bias=False)

    def forward(self, tokens: Tensor, positions: Tensor, cache: PagedCache, slots: Tensor) -> Tensor:
        """Return logits of the next token after each; all arguments but the slots are [sequences, tokens]."""
        x = self.embed(tokens)
        for layer, block in enumerate(self.blocks):
            x = block(x, positions, cache.values[layer], slots)
        logits: Tensor = self.head(rms_norm(x, x.shape[-1:]))
        return logits


@dataclass(eq=False)
class Sequence:
    """A request as the engine sees it."""

    request: joulemap.types.Request
    tokens: list[int]  # the prompt, and the answer so far
    end: int  # the number of tokens at which it is done
    fed: int = 0  # tokens with keys and values in the cache
    pages: list[int] = field(default_factory=list)


class Engine:
    """Waiting requests and the batch that runs; each `step` is a pass of the model over one prompt, or the batch."""

    def __init__(self, run: joulemap.Session, model: Model, cache: PagedCache, most: int = 8) -> None:
        self.run, self.model, self.cache, self.most = run, model, cache, most
        self.waiting: deque[Sequence] = deque()
        self.running: list[Sequence] = []
        self.steps = self.preempted = 0

    def add(self, name: str, prompt: list[int], count: int) -> Sequence:
        """Add a request for `count` tokens after a prompt."""
        request = joulemap.request(name, tokens=len(prompt))
        self.waiting.append(Sequence(request, list(prompt), len(prompt) + count))
        return self.waiting[-1]

    def step(self) -> list[Sequence]:
        """Run one step; return the finished sequences."""
        self.steps += 1
        first = self.waiting[0] if self.waiting and len(self.running) < self.most else None
        if first is not None and self.cache.grow(first.pages, len(first.tokens) + 1):
            self.waiting.popleft()
            self.running.append(first)
            # All of its tokens are a prompt, including answers from before it was preempted.
            with self.run.phase("prefill"), self.run.step(requests={first.request: (len(first.tokens), 0)}):
                self._forward([first])
        elif self.running:
            batch = self._with_room()
            with self.run.phase("decode"), self.run.step(requests={each.request: (0, 1) for each in batch}):
                self._forward(batch)
        elif first is not None:
            raise RuntimeError(f"the cache has too few pages for {first.request.id}")
        done = [each for each in self.running if len(each.tokens) == each.end]
        for each in done:
            self.running.remove(each)
            self.cache.free += each.pages
            each.request.end()
        return done

    def _with_room(self) -> list[Sequence]:
        """Return the batch; if pages are short, its youngest sequences return theirs and wait."""
        batch = list(self.running)
        for each in self.running:
            while each in batch and not self.cache.grow(each.pages, len(each.tokens) + 1):
                last = batch.pop()
                self.cache.free += last.pages
                last.pages, last.fed = [], 0
                self.waiting.appendleft(last)
                self.preempted += 1
        self.running = batch
        return batch

    @torch.inference_mode()
    def _forward(self, batch: list[Sequence]) -> None:
        device = self.cache.values.device
        tokens = torch.tensor([each.tokens[each.fed :] for each in batch], device=device)
        positions = torch.tensor([list(range(each.fed, len(each.tokens))) for each in batch], device=device)
        slots = self.cache.slots([each.pages for each in batch], max(len(each.tokens) for each in batch))
        chosen = self.model(tokens, positions, self.cache, slots)[:, -1].argmax(dim=-1).tolist()
        for each, token in zip(batch, chosen, strict=True):
            each.fed = len(each.tokens)
            each.tokens.append(token)


def serve(engine: Engine, requests: int, prompt: int, answer: int, vocabulary: int) -> None:
    """Imitate clients: every few steps a request arrives, with 0.5 to 1.5 times these numbers of tokens."""
    random_state = random.Random(1)
    arrived = 0
    while arrived < requests or engine.waiting or engine.running:
        if arrived < requests and (random_state.random() < 0.2 or not engine.running):
            length, count = (max(1, int(mean * (0.5 + random_state.random()))) for mean in (prompt, answer))
            engine.add(f"request {arrived}", [random_state.randrange(vocabulary) for _ in range(length)], count)
            arrived += 1
        engine.step()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=40)
    requests = parser.parse_args().requests
    device = "cuda" if torch.cuda.is_available() else "cpu"
    config = Config()
    model = Model(config).to(device).eval()

    with joulemap.Session() as run:
        run.watch(model)
        engine = Engine(run, model, PagedCache(config, pages=96, device=device))
        serve(engine, requests, prompt=150, answer=30, vocabulary=config.vocabulary)
        totals = run.report("request").totals
        for part, energy_j, tokens in (
            ("prefill", totals.prefill_j, totals.prefill_tokens),
            ("decode", totals.decode_j, totals.decode_tokens),
        ):
            if energy_j is not None and tokens:
                print(f"{part}: {1e3 * energy_j / tokens:.1f} mJ a token")


if __name__ == "__main__":
    main()
