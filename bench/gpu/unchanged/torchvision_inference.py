"""Inference of a torchvision model on batches that are made on the GPU."""

import sys
import time

import torch
import torchvision

BATCHES = int(sys.argv[1]) if len(sys.argv) > 1 else 600
model = torchvision.models.resnet50().cuda().eval().half()
images = torch.rand(64, 3, 224, 224, device="cuda", dtype=torch.half)
times = []
with torch.inference_mode():
    for _ in range(BATCHES):
        begin = time.perf_counter()
        labels = model(images).argmax(1).cpu()
        times.append(time.perf_counter() - begin)
print(f"median step {1e3 * sorted(times[5:])[len(times[5:]) // 2]:.3f} ms")
