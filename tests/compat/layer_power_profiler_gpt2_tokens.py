"""Generation: a row for each call of a layer, token by token; a model that cannot generate."""

import torch
from layer_power_profiler import LayerPowerProfiler
from torch import nn
from transformers import GPT2Config, GPT2LMHeadModel

torch.manual_seed(0)
config = GPT2Config(
    vocab_size=96, n_positions=64, n_embd=32, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=95, pad_token_id=0
)
model = GPT2LMHeadModel(config).cuda().eval()
prompt = {"input_ids": torch.randint(1, 90, (1, 5)).cuda(), "attention_mask": torch.ones(1, 5, dtype=torch.long).cuda()}

profiler = LayerPowerProfiler(model)
metrics = profiler.profile_generation(prompt, max_new_tokens=6, warmup=True, do_sample=False, min_new_tokens=6)
heads = [m for m in metrics if m.layer_name == "lm_head"]
assert len(heads) == 6, len(heads)
assert all(b.start_time >= a.start_time for a, b in zip(heads, heads[1:]))
per_token = sum(m.energy_j for m in heads) / 6
assert per_token > 0
print("lm_head: %.6f J a token" % per_token)

try:
    LayerPowerProfiler(nn.Linear(4, 4).cuda()).profile_generation(torch.ones(1, 4).cuda())
except ValueError as e:
    assert "generate" in str(e), e
else:
    raise AssertionError("a model without generate was accepted")
