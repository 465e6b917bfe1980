"""Hugging Face's Trainer on a small Llama, with an evaluation."""

import os
import sys
import tempfile
import time

import torch
from torch.utils.data import Dataset
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainerCallback, TrainingArguments

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 150
os.environ["WANDB_DISABLED"] = "true"


class Words(Dataset):
    def __len__(self):
        return 100000

    def __getitem__(self, i):
        ids = torch.randint(0, 32000, (512,), generator=torch.Generator().manual_seed(i))
        return {"input_ids": ids, "labels": ids}


class Timer(TrainerCallback):
    def __init__(self):
        self.times, self.before = [], time.perf_counter()

    def on_step_end(self, *_, **__):
        now = time.perf_counter()
        self.times.append(now - self.before)
        self.before = now


config = LlamaConfig(
    hidden_size=1024, intermediate_size=2816, num_hidden_layers=12, num_attention_heads=16, num_key_value_heads=16
)
timer = Timer()
arguments = TrainingArguments(
    tempfile.mkdtemp(),
    per_device_train_batch_size=8,
    max_steps=STEPS,
    bf16=True,
    report_to=[],
    logging_steps=50,
    save_strategy="no",
    dataloader_num_workers=2,
)
trainer = Trainer(LlamaForCausalLM(config), arguments, train_dataset=Words(), callbacks=[timer])
trainer.train()
times = timer.times[5:]
print(f"median step {1e3 * sorted(times)[len(times) // 2]:.3f} ms")
