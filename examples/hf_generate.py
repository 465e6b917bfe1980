"""Joules of Hugging Face's generate, prefill and decode apart, found without marks in the program.

joulemap record -o generate.joulemap -- python examples/hf_generate.py
joulemap report generate.joulemap --by phase
"""

from __future__ import annotations

import joulemap
import torch
from transformers import GPT2Config, GPT2LMHeadModel


def main() -> None:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    config = GPT2Config(n_layer=2, n_embd=128, n_head=2, vocab_size=1000, bos_token_id=0, eos_token_id=None)
    model = GPT2LMHeadModel(config).to(device).eval()
    prompts = torch.randint(1000, (8, 64), device=device)

    with joulemap.Session() as run:
        run.watch(model)
        for _ in range(3):
            model.generate(prompts, attention_mask=torch.ones_like(prompts), max_new_tokens=20, do_sample=False)
        for phase in ("prefill", "decode"):
            totals = run.report(phase=phase).totals
            if totals.total_energy_j is not None and totals.tokens:
                print(f"{phase}: {1e3 * totals.total_energy_j / totals.tokens:.3g} mJ a token")


if __name__ == "__main__":
    main()
