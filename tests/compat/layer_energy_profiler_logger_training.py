"""PowerLogger around a training loop, mean power times time as the energy."""

import time

import torch
import torch.nn as nn
from layer_energy_profiler import PowerLogger

model = nn.Sequential(nn.Linear(100, 200), nn.ReLU(), nn.Linear(200, 10)).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
logger = PowerLogger(gpu_id=0, poll_interval_ms=20)
logger.start()
start = time.time()
steps = 0
while time.time() - start < 0.8:
    optimizer.zero_grad(set_to_none=True)
    loss = nn.functional.cross_entropy(model(torch.randn(32, 100).to("cuda")), torch.randint(0, 10, (32,)).to("cuda"))
    loss.backward()
    optimizer.step()
    steps += 1
torch.cuda.synchronize()
powers = logger.stop()
elapsed = time.time() - start

assert isinstance(powers, list) and len(powers) >= 10, len(powers)
assert all(isinstance(p, float) and 1 < p < 1500 for p in powers)
average = sum(powers) / len(powers)
print(f"{steps} steps, {average:.1f} W, {average * elapsed / steps * 1e3:.2f} mJ a step")
