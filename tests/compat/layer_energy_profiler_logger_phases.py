"""One logger over several phases; idle and busy; two loggers at the same time."""

import statistics
import time

import torch
from layer_energy_profiler import PowerLogger


def busy(seconds):
    a = torch.randn(300, 300, device="cuda")
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        a = torch.tanh(a @ a)
    return a


logger = PowerLogger()
phases = {}
for phase, action in (("idle", time.sleep), ("busy", busy), ("idle again", time.sleep)):
    logger.start()
    action(0.7)
    phases[phase] = logger.stop()
for phase, watts in phases.items():
    # every 100 ms by default
    assert 3 <= len(watts) <= 20, (phase, len(watts))
    print(f"{phase:12s}{statistics.mean(watts):8.1f} W, {len(watts)} samples")
assert phases["idle"] is not phases["idle again"]

slow, fast = PowerLogger(0, 200), PowerLogger(0, poll_interval_ms=20)
slow.start()
fast.start()
time.sleep(0.7)
n_fast, n_slow = len(fast.stop()), len(slow.stop())
assert n_fast > n_slow >= 1, (n_fast, n_slow)
