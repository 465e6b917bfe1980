"""What goes wrong in notebooks: no such GPU, stop before start, a model that fails in its forward pass."""

import torch
from layer_energy_profiler import LayerEnergyProfiler, PowerLogger
from torch import nn


class Picky(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(10, 4)
        self.out = nn.Linear(4, 2)

    def forward(self, input_ids, attention_mask=None):
        if input_ids.shape[1] > 4:
            raise ValueError("sequence too long")
        return self.out(self.embed(input_ids))


model = Picky().cuda()
profiler = LayerEnergyProfiler(model)
long = torch.zeros(2, 9, dtype=torch.long).cuda()
try:
    profiler.profile_all_layers(long, torch.ones_like(long), num_loops=2)
except ValueError as e:
    assert "too long" in str(e)
else:
    raise AssertionError("the model's error was lost")
assert not any(m._forward_hooks or m._forward_pre_hooks for m in model.modules())
short = long[:, :4]
assert len(profiler.profile_all_layers(short, torch.ones_like(short), 2, 2)) == 2

try:
    bad = PowerLogger(gpu_id=42)
    bad.start()
    watts = bad.stop()
except Exception as e:
    assert str(e)
else:
    raise AssertionError("GPU 42 gave %r" % watts)
