"""Programs that the host holds back: a Llama in training and decoding, and a loop of launches. See alternate.py."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from transformers import DynamicCache, LlamaConfig, LlamaForCausalLM

CUDA = torch.cuda.is_available()
DEVICE = "cuda" if CUDA else "cpu"
DTYPE = torch.bfloat16 if CUDA else torch.float32
WARM_S = 0.3  # before an interval is timed


@dataclass
class Program:
    """What is played: `step` is given what begins a step, by its tokens and name."""

    name: str
    step: Callable[[Callable[..., Any]], None]
    model: torch.nn.Module | None = None


def llama(layers: int) -> LlamaForCausalLM:
    """Return a model from its config alone."""
    shape = {"hidden_size": 1024, "intermediate_size": 2816, "num_attention_heads": 16, "vocab_size": 8192}
    if not CUDA:
        shape = {"hidden_size": 64, "intermediate_size": 128, "num_attention_heads": 4, "vocab_size": 256}
    torch.manual_seed(0)
    config = LlamaConfig(num_hidden_layers=layers if CUDA else 2, max_position_embeddings=1024, **shape)
    return LlamaForCausalLM(config).to(DEVICE, DTYPE)


def training() -> Program:
    """Llama of width 1024, 16 layers, one sequence of 128 tokens."""
    model = llama(16).train()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4)
    ids = torch.randint(0, model.config.vocab_size, (1, 128), device=DEVICE)

    def step(begin: Callable[..., Any]) -> None:
        with begin(tokens=128):
            model(input_ids=ids, labels=ids).loss.backward()
            optimizer.step()
            optimizer.zero_grad()

    return Program("Llama training", step, model)


def decode() -> Program:
    """The same model with a cache: a prompt of 16 tokens, then one token a step, 64 of them."""
    model = llama(16).eval()
    prompt = torch.randint(0, model.config.vocab_size, (1, 16), device=DEVICE)
    state: dict[str, Any] = {"left": 0}

    def step(begin: Callable[..., Any]) -> None:
        is_prompt = state["left"] == 0
        if is_prompt:
            state.update(left=65, ids=prompt, cache=DynamicCache(config=model.config))
        state["left"] -= 1
        with begin(tokens=16 if is_prompt else 1, name="prompt" if is_prompt else "token"), torch.no_grad():
            out = model(input_ids=state["ids"], past_key_values=state["cache"], use_cache=True)
            state["ids"] = out.logits[:, -1:].argmax(-1)

    return Program("decode", step, model)


def launches() -> Program:
    """Two thousand small kernels a step, and nothing else."""
    x = torch.zeros(64, 64, device=DEVICE)

    def step(begin: Callable[..., Any]) -> None:
        with begin(samples=2000 if CUDA else 200):
            for _ in range(2000 if CUDA else 200):
                x.add_(1)

    return Program("64x64 add_", step)


PROGRAMS = {"training": training, "decode": decode, "launches": launches}


def nothing(**_: Any) -> Any:
    """Begin no step."""
    return nullcontext()


def sync() -> None:
    if CUDA:
        torch.cuda.synchronize()


def timed(program: Program, begin: Callable[..., Any], seconds: float) -> tuple[float, float]:
    """Seconds of time and of the main thread's CPU that a step takes."""
    sync()
    steps, start_s, cpu_s = 0, time.perf_counter(), time.thread_time()
    while time.perf_counter() - start_s < seconds:
        program.step(begin)
        steps += 1
    cpu_s = time.thread_time() - cpu_s
    sync()
    return (time.perf_counter() - start_s) / steps, cpu_s / steps


def warm(program: Program, begin: Callable[..., Any], seconds: float = WARM_S) -> None:
    timed(program, begin, seconds)


def interval(
    values: list[float], middle: Callable[[list[float]], float] = statistics.median
) -> tuple[float, float, float]:
    """The median, or another middle, and a bootstrap interval of it (95 %)."""
    chance = random.Random(1)
    middles = sorted(middle(chance.choices(values, k=len(values))) for _ in range(2000))
    return middle(values), middles[50], middles[-51]
