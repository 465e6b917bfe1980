"""Joules of a training with Hugging Face's Trainer: a callback records phases, steps and layers, and logs joules.

joulemap record -o trainer.joulemap -- python examples/hf_trainer.py
joulemap report trainer.joulemap --phase train
"""

from __future__ import annotations

import joulemap.huggingface
import torch
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments


class MadeUp(Dataset[dict[str, torch.Tensor]]):
    def __init__(self, count: int, length: int) -> None:
        self.tokens = torch.randint(1000, (count, length))

    def __len__(self) -> int:
        return len(self.tokens)

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        return {"input_ids": self.tokens[index], "labels": self.tokens[index]}


def main() -> None:
    model = GPT2LMHeadModel(GPT2Config(n_layer=2, n_embd=128, n_head=2, vocab_size=1000))
    settings = TrainingArguments("trainer-out", per_device_train_batch_size=8, max_steps=50, report_to=[])
    energy = joulemap.huggingface.EnergyCallback()
    trainer = Trainer(model, settings, train_dataset=MadeUp(512, 128), callbacks=[energy])
    trainer.train()
    print(energy.report(phase="train").table(limit=30))


if __name__ == "__main__":
    main()
