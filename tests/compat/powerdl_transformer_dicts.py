"""Batches as dicts, as a tokenizer's collator makes them, with AMP; the model gives an object with .logits."""

import torch
from powerdl.highlevel import profile_torch
from torch import nn
from transformers import BertConfig, BertForSequenceClassification

config = BertConfig(
    vocab_size=120,
    hidden_size=32,
    num_hidden_layers=2,
    num_attention_heads=2,
    intermediate_size=64,
    max_position_embeddings=32,
    num_labels=3,
)
model = BertForSequenceClassification(config).cuda()


class Sentences(torch.utils.data.Dataset):
    def __len__(self):
        return 20

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        return {
            "input_ids": torch.randint(0, 120, (12,), generator=g),
            "attention_mask": torch.ones(12, dtype=torch.long),
            "labels": torch.tensor(i % 3),
        }


loader = torch.utils.data.DataLoader(Sentences(), batch_size=8)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
loss_fn = nn.CrossEntropyLoss()
with profile_torch(amp=True) as prof:
    prof.train(model, loader, optimizer, lambda out, labels: loss_fn(getattr(out, "logits", out), labels), epochs=1)
    summary = prof.report().summary

sizes = [row["batch_size"] for row in summary["batch_rows"]]
assert sizes == [8, 8, 4], sizes
assert all(row["loss"] > 0 and row["energy_j"] > 0 for row in summary["batch_rows"])
