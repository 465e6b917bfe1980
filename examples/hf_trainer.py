"""Joules of a training with Hugging Face's Trainer: a callback tells phases and steps, hooks tell layers.

joulemap record -o trainer.joulemap -- python examples/hf_trainer.py
joulemap report trainer.joulemap --phase train
"""

from __future__ import annotations

from typing import Any

import joulemap
import torch
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments


class Joules(TrainerCallback):  # type: ignore[misc]  # where transformers is not installed, it has no types
    """Tells joulemap when training begins, when a step does, and how many tokens it has."""

    def __init__(self, run: joulemap.Session, tokens_a_step: int) -> None:
        self.train, self.step = run.phase("train"), run.step(tokens=tokens_a_step)

    def on_train_begin(self, *_: Any, **__: Any) -> None:
        self.train.begin()

    def on_step_begin(self, *_: Any, **__: Any) -> None:
        self.step.begin()

    def on_step_end(self, *_: Any, **__: Any) -> None:
        self.step.end()

    def on_train_end(self, *_: Any, **__: Any) -> None:
        self.train.end()


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
    with joulemap.Session() as run:
        run.watch(model)
        trainer = Trainer(model, settings, train_dataset=MadeUp(512, 128), callbacks=[Joules(run, 8 * 128)])
        trainer.train()
        print(run.report(phase="train").table(limit=30))


if __name__ == "__main__":
    main()
