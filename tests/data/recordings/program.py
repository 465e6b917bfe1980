"""The program in live.joulemap: layers, phases, steps, kernels, marks, a loss, a second process, without a GPU.

It is run by make.sh under `joulemap record`. Kernels come through joulemap's injected library from a fake libcupti
(tests/fake_cupti), as if CUDA had launched them; a fake libcuda gives the simulated board's UUID.
"""

from __future__ import annotations

import ctypes
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable

import joulemap
import torch
from torch import nn


class Work(ctypes.Structure):
    """struct fake_work of tests/fake_cupti/fake_cupti.h."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("bytes", ctypes.c_int64),
        ("correlation", ctypes.c_uint32),
        ("device", ctypes.c_uint32),
        ("context", ctypes.c_uint32),
        ("stream", ctypes.c_uint32),
        ("grid", ctypes.c_uint32 * 3),
        ("block", ctypes.c_uint32 * 3),
        ("start_ns", ctypes.c_int64),
        ("end_ns", ctypes.c_int64),
        ("graph_node", ctypes.c_uint64),
    )


def load_fakes() -> ctypes.CDLL:
    """Do what cuInit does: the driver, CUPTI, and the injected library."""
    ctypes.CDLL(os.environ["FAKE_CUDA"])
    fake = ctypes.CDLL(os.environ["JOULEMAP_CUPTI"])
    fake.fake_call.restype = ctypes.c_uint32
    fake.fake_call.argtypes = (ctypes.c_char_p,)
    if ctypes.CDLL(os.environ["CUDA_INJECTION64_PATH"]).InitializeInjection() != 1:
        raise SystemExit("the injected library does not start")
    return fake


FAKE = load_fakes()
NAMES: dict[str, bytes] = {}  # CUPTI's records point at them


def launch(name: str | None, length_s: float, size: int = 0, stream: int = 7) -> None:
    """A kernel (or with `size` a copy, or a set if it is negative) that takes so long; returns when it is over."""
    call = b"cudaLaunchKernel_v7000" if name else b"cudaMemcpyAsync_v3020" if size > 0 else b"cudaMemsetAsync_v3020"
    correlation = FAKE.fake_call(call)
    time.sleep(20e-6)
    start_ns = time.time_ns()
    time.sleep(length_s)
    grid, block = (ctypes.c_uint32 * 3)(64, 2, 1), (ctypes.c_uint32 * 3)(128, 1, 1)
    label = NAMES.setdefault(name, name.encode()) if name else None
    FAKE.fake_run(ctypes.byref(Work(label, size, correlation, 0, 1, stream, grid, block, start_ns, time.time_ns(), 0)))


class Layer(nn.Module):
    """Runs kernels for some milliseconds forward, and about twice as long backward."""

    def __init__(self, kernels: list[str], length_s: float) -> None:
        super().__init__()
        self.kernels, self.length_s = kernels, length_s

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Give back the input."""
        for kernel in self.kernels:
            launch(kernel, self.length_s * random.uniform(0.5, 1.5))
        y: torch.Tensor = Backward.apply(x, lambda: launch(self.kernels[0] + "_backward", 2 * self.length_s))
        return y


Context = torch.autograd.function.FunctionCtx


class Backward(torch.autograd.Function):
    """Nothing but a call on the way back."""

    @staticmethod
    def forward(context: Context, x: torch.Tensor, work: Callable[[], None]) -> torch.Tensor:
        """Keep what is to be done."""
        context.work = work  # type: ignore[attr-defined]
        return x.clone()

    @staticmethod
    def backward(context: Context, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:  # type: ignore[override]
        """Do it."""
        context.work()  # type: ignore[attr-defined]
        return gradient, None


def model() -> nn.Module:
    """Two blocks and a head."""

    def block() -> nn.Sequential:
        return nn.Sequential(Layer(["attention", "gemm_small"], 0.004), nn.LayerNorm(8), Layer(["gemm_large"], 0.009))

    return nn.Sequential(block(), block(), nn.Linear(8, 8), Layer(["gemm_head"], 0.006))


def main() -> None:
    """Train and validate for some seconds; the second process only adds a phase of its own."""
    helper = len(sys.argv) > 1
    random.seed(2 if helper else 1)
    net = model()
    with joulemap.Session(kernels=True) as run:
        if helper:
            with run.phase("helper"), run.window("wait"):
                for _ in range(20):
                    launch("helper_kernel", random.uniform(0.01, 0.03), stream=13)
            return
        run.watch(net)
        with run.phase("train"):
            child = None
            end_s = time.monotonic() + 14
            while time.monotonic() < end_s:
                with run.step(samples=16):
                    launch(None, 0.001, size=1 << 20)
                    net(torch.ones(4, 8, requires_grad=True)).sum().backward()
                    launch(None, 0.0005, size=-4096)
                if child is None and end_s - time.monotonic() < 9:
                    child = subprocess.Popen([sys.executable, __file__, "helper"])
            run.mark("trained", loss=0.5)
        time.sleep(0.3)
        FAKE.fake_drop(5)
        with run.phase("validate"), torch.no_grad():
            end_s = time.monotonic() + 3
            while time.monotonic() < end_s:
                with run.step(samples=16):
                    net(torch.ones(4, 8))
        launch("kernel_of_nobody", 0.05)
        assert child is not None and child.wait() == 0


main()
