"""A notebook's cells (`# %%`): one session for all of them, a window for each experiment."""

# %%
import joulemap
import torch
from torch import nn

device = "cuda" if torch.cuda.is_available() else "cpu"
run = joulemap.Session().start()

# %%
model = nn.Sequential(nn.Linear(1024, 4096), nn.GELU(), nn.Linear(4096, 1024)).to(device)
run.watch(model)
x = torch.randn(32, 1024, device=device)

# %%
with run.window("forward") as forward:
    for _ in range(100):
        model(x)
    if device == "cuda":
        torch.cuda.synchronize()
print(forward.report().table())

# %%
print(run.report(by="layer").table())

# %%
run.stop()
