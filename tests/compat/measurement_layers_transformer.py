"""Layer by layer in inference, a transformer of the user's own called with keywords."""

import torch
from measurement import LayerwiseMeasurementTool
from torch import nn


class Attention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        return self.proj(nn.functional.scaled_dot_product_attention(q, k, v))


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.attn, self.norm = Attention(dim), nn.LayerNorm(dim)

    def forward(self, x):
        return x + self.attn(self.norm(x))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(50, 32)
        self.layers = nn.Sequential(Block(32), Block(32))
        self.lm = nn.Linear(32, 50)

    def forward(self, *, ids):
        return self.lm(self.layers(self.emb(ids)))


net = Net().eval().to("cuda")
ids = torch.randint(0, 50, (4, 16), device="cuda")
with torch.inference_mode():
    expected = net(ids=ids)
    tool = LayerwiseMeasurementTool(out_file="transformer_layers.csv")
    net = tool.start(net)
    for _ in range(20):
        out = net(ids=ids)
    tool.stop()
assert torch.allclose(out, expected, atol=1e-5)
lines = open("transformer_layers.csv").read().splitlines()
body = "\n".join(lines[1:])
for name in ("emb", "qkv", "proj", "norm", "lm"):
    assert name in body, name
figures = [
    float(cell)
    for line in lines[1:]
    for cell in line.split(",")[1:]
    if cell.replace(".", "").replace("e-", "").isdigit()
]
assert figures and all(f >= 0 for f in figures)
