"""A GPT in one file, as nanoGPT's train.py: own batches, gradients of four passes, an evaluation now and then."""

import math
import sys
import time

import torch
from torch import nn
from torch.nn import functional

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 300
WIDTH, LAYERS, HEADS, BLOCK, BATCH, VOCABULARY = 768, 12, 12, 1024, 8, 50304


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.c_attn = nn.Linear(WIDTH, 3 * WIDTH)
        self.c_proj = nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        q, k, v = (y.view(*x.shape[:2], HEADS, -1).transpose(1, 2) for y in self.c_attn(x).split(WIDTH, dim=2))
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.c_proj(y.transpose(1, 2).reshape(x.shape))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attn = Attention()
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(BLOCK, WIDTH)
        self.h = nn.ModuleList(Block() for _ in range(LAYERS))
        self.ln_f = nn.LayerNorm(WIDTH)
        self.lm_head = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, idx, targets=None):
        x = self.wte(idx) + self.wpe(torch.arange(idx.shape[1], device=idx.device))
        for block in self.h:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        return logits, None if targets is None else functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


def get_batch(data):
    at = torch.randint(len(data) - BLOCK, (BATCH,))
    x = torch.stack([data[i : i + BLOCK] for i in at]).pin_memory().cuda(non_blocking=True)
    return x, x.roll(-1, 1)


torch.manual_seed(1)
torch.backends.cuda.matmul.allow_tf32 = True
data = torch.randint(VOCABULARY, (1_000_000,))
model = GPT().cuda()
if "compile" in sys.argv:
    model = torch.compile(model)
optimizer = torch.optim.AdamW(model.parameters(), lr=6e-4, fused=True)
times = []
for step in range(STEPS):
    if step % 100 == 0:
        model.eval()
        with torch.no_grad(), torch.autocast("cuda", torch.bfloat16):
            losses = [model(*get_batch(data))[1].item() for _ in range(5)]
        model.train()
    begin = time.perf_counter()
    for _ in range(4):
        with torch.autocast("cuda", torch.bfloat16):
            loss = model(*get_batch(data))[1] / 4
        loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    lossf = loss.item()
    times.append(time.perf_counter() - begin)
assert math.isfinite(lossf)
print(f"median step {1e3 * sorted(times[5:])[len(times[5:]) // 2]:.3f} ms")
