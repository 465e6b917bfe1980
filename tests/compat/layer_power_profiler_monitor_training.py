"""GPUMonitor polled in a thread of the user's own while a model trains with AMP."""

import threading
import time

import torch
import torch.nn.functional as F
from layer_power_profiler import GPUMonitor

monitor = GPUMonitor(device_index=0)
info = monitor.get_gpu_info()
print(info)
assert info["name"]
assert {"memory_total_gb", "memory_used_gb", "memory_free_gb"} <= set(info)
assert 1 < info["memory_total_gb"] < 1000
assert info["memory_used_gb"] + info["memory_free_gb"] <= info["memory_total_gb"] * 1.01

readings, stop = [], threading.Event()


def poll():
    while not stop.is_set():
        readings.append((time.time(), monitor.get_power()))
        time.sleep(0.02)


thread = threading.Thread(target=poll, daemon=True)
thread.start()
net = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10)).cuda()
opt = torch.optim.Adam(net.parameters())
until = time.time() + 2
while time.time() < until:
    opt.zero_grad()
    with torch.autocast(device_type="cuda"):
        loss = F.cross_entropy(net(torch.randn(64, 64).cuda()).float(), torch.randint(0, 10, (64,)).cuda())
    loss.backward()
    opt.step()
stop.set()
thread.join()
assert len(readings) >= 2
assert all(isinstance(w, float) and 0 < w < 2000 for _, w in readings), "watts, never 0"
joules = sum((b[0] - a[0]) * (a[1] + b[1]) / 2 for a, b in zip(readings, readings[1:]))
print("about %.1f J" % joules)

try:
    GPUMonitor(device_index=99)
    GPUMonitor(device_index=99).get_power()
except Exception as e:
    assert str(e)
else:
    raise AssertionError("device 99 answered")
