"""Prompt processing and generation measured apart, with a tiny causal LM of transformers; then layer by layer."""

import torch
from measurement import EnergyMeasurementTool, LayerwiseMeasurementTool
from transformers import GPT2Config, GPT2LMHeadModel

model = (
    GPT2LMHeadModel(
        GPT2Config(
            vocab_size=64,
            n_positions=48,
            n_embd=16,
            n_layer=2,
            n_head=2,
            bos_token_id=0,
            eos_token_id=63,
            pad_token_id=0,
        )
    )
    .to("cuda")
    .eval()
)
ids = torch.randint(1, 60, (2, 8)).to("cuda")
mask = torch.ones_like(ids)
meter = EnergyMeasurementTool("phases.csv")
with torch.no_grad():
    model.generate(ids, attention_mask=mask, max_new_tokens=2, do_sample=False)  # what only the first call does
    meter.start()
    model(input_ids=ids, attention_mask=mask)
    meter.stop()
    meter.start()
    out = model.generate(ids, attention_mask=mask, max_new_tokens=12, min_new_tokens=12, do_sample=False)
    meter.stop()
assert out.shape[1] == 20
prefill, decode = [
    [float(c) if c.strip() else None for c in line.split(",")[:3]]
    for line in open("phases.csv").read().splitlines()[1:]
]
assert decode[0] > prefill[0] and decode[2] > prefill[2] > 0

layers = LayerwiseMeasurementTool("lm_layers.csv")
model = layers.start(model)
with torch.no_grad():
    model.generate(ids, attention_mask=mask, max_new_tokens=4, do_sample=False)
layers.stop()
assert "lm_head" in open("lm_layers.csv").read()
