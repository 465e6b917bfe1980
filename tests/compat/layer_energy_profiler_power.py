"""The guide's logger: watts while something runs."""

import time

import torch
from layer_energy_profiler import PowerLogger

logger = PowerLogger(gpu_id=0, poll_interval_ms=100)
logger.start()
a = torch.randn(128, 128, device="cuda")
end = time.time() + 1.05
while time.time() < end:
    a = torch.tanh(a @ a)
readings = logger.stop()
assert 8 <= len(readings) <= 20, len(readings)
assert all(10 < watts < 1500 for watts in readings)
assert len(logger.timestamps) == len(readings)
assert abs(time.time() - logger.timestamps[-1]) < 10
