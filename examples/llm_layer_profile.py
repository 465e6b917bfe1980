"""Power of each layer of a language model: a script for GPUPP's profiler, run unchanged on joulemap.

    python -m joulemap.compat examples/llm_layer_profile.py
    JOULEMAP_SIM=h200 python -m joulemap.compat examples/llm_layer_profile.py    # no GPU: the simulated board

The model has random weights, so that nothing is downloaded: a Llama of transformers, else one of our own.
"""

from __future__ import annotations

import argparse
from typing import Any

import torch
from layer_power_profiler import LayerPowerProfiler
from torch import Tensor, nn


def make_transformers_model(big: bool) -> nn.Module:
    """Return a Llama with random weights; ImportError without transformers."""
    from transformers import LlamaConfig, LlamaForCausalLM

    width = 2048 if big else 128
    config = LlamaConfig(
        vocab_size=32000 if big else 1000,
        hidden_size=width,
        intermediate_size=width * 11 // 4,
        num_hidden_layers=16 if big else 3,
        num_attention_heads=width // 64,
        num_key_value_heads=width // 64,
        max_position_embeddings=4096,
    )
    model: nn.Module = LlamaForCausalLM(config)
    return model


class SmallModel(nn.Module):
    """A causal language model with the part of `generate` that the profiler needs."""

    def __init__(self, vocabulary: int = 1000, width: int = 128, blocks: int = 3) -> None:
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(width, width // 32, 4 * width, dropout=0.0, batch_first=True, norm_first=True)
            for _ in range(blocks)
        )
        self.head = nn.Linear(width, vocabulary)

    def forward(self, input_ids: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        x = self.embed(input_ids)
        mask = nn.Transformer.generate_square_subsequent_mask(input_ids.shape[1], device=x.device, dtype=x.dtype)
        for layer in self.layers:
            x = layer(x, src_mask=mask, is_causal=True)
        logits: Tensor = self.head(x)
        return logits

    def generate(
        self, input_ids: Tensor, max_new_tokens: int = 20, attention_mask: Tensor | None = None, **_: Any
    ) -> Tensor:
        for _step in range(max_new_tokens):
            following = self(input_ids)[:, -1].argmax(-1, keepdim=True)
            input_ids = torch.cat([input_ids, following], dim=1)
        return input_ids


def make_model(big: bool) -> nn.Module:
    try:
        return make_transformers_model(big)
    except ImportError as error:
        print(f"transformers cannot be used ({error}): a model of our own takes its place")
        return SmallModel()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, default=32, help="tokens to generate")
    parser.add_argument("--batch", type=int, default=0, help="sequences (default: 8 on CUDA, else 2)")
    parser.add_argument("--length", type=int, default=0, help="tokens in the prompt (default: 512 on CUDA, else 32)")
    args = parser.parse_args()
    cuda = torch.cuda.is_available()
    torch.manual_seed(0)
    model = make_model(big=cuda).eval()
    if cuda:
        with torch.cuda.nvtx.range("load model"):
            model = model.to("cuda", torch.bfloat16)
    shape = (args.batch or (8 if cuda else 2), args.length or (512 if cuda else 32))
    inputs = {
        "input_ids": torch.randint(10, 900, shape),
        "attention_mask": torch.ones(shape, dtype=torch.long),
    }

    profiler = LayerPowerProfiler(model, device_index=0)

    print("\n--- one forward pass ---")
    results = profiler.profile(inputs, num_runs=3, warmup=True)
    print(f"{len(results)} executions of layers")
    profiler.print_summary()
    profiler.save_results("llm_forward.csv")

    print(f"\n--- generation of {args.tokens} tokens ---")
    results = profiler.profile_generation(inputs, max_new_tokens=args.tokens, do_sample=False)
    print(f"{len(results)} executions of layers")
    profiler.print_summary()
    profiler.save_results("llm_generation.csv")


if __name__ == "__main__":
    main()
