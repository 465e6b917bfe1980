"""Programs that ask for CUDA, on a machine that has a simulated board instead: what they ask for runs on the CPU."""

from __future__ import annotations

import functools
import sys
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from joulemap._machine import boards

_WITHOUT_EFFECT = ("synchronize", "reset_peak_memory_stats", "reset_max_memory_allocated")

_TAKE_NUMBERS = (torch.Tensor.to, torch._C._nn._parse_to)  # 0 is "cuda:0"; the latter reads what Module.to is given


def is_simulated() -> bool:
    """Return whether all GPUs of this machine are simulated ones, and CUDA has none."""
    if torch.cuda.is_available():
        return False
    gpus = [board for board in boards() if board.kind == "gpu"]
    return bool(gpus) and all(board.simulated for board in gpus)


def device_here(device: str | int | torch.device) -> torch.device:
    """Return the device, or the CPU where CUDA is meant and a simulated board stands for it."""
    wanted = torch.device("cuda", device) if isinstance(device, int) else torch.device(device)
    return torch.device("cpu") if wanted.type == "cuda" and is_simulated() else wanted


def _means_cuda(value: Any) -> bool:
    if isinstance(value, torch.device):
        return value.type == "cuda"
    return isinstance(value, str) and value.split(":")[0] == "cuda"


class OnCpu(TorchFunctionMode):
    """Takes "cuda" for the CPU in all functions of PyTorch that name a device, and says so once.

    `torch.cuda.is_available()` still tells the truth: a program that asks goes its own way.
    """

    def __init__(self) -> None:
        super().__init__()
        self._told = False

    def tell(self) -> None:
        """Say once what happens."""
        if not self._told:
            self._told = True
            print(
                "joulemap.compat: no CUDA here, but a simulated GPU: what asks for CUDA runs on the CPU",
                file=sys.stderr,
            )

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call a function of PyTorch, with the CPU in place of CUDA."""
        kwargs = kwargs or {}
        if func is torch.Tensor.cuda:
            self.tell()
            return args[0]
        numbered = func in _TAKE_NUMBERS

        def moved(value: Any) -> Any:
            if not _means_cuda(value) and not (numbered and type(value) is int):
                return value
            self.tell()
            return torch.device("cpu")

        args = tuple(map(moved, args))
        if "device" in kwargs:
            kwargs = {**kwargs, "device": moved(kwargs["device"])}
        return func(*args, **kwargs)


def install() -> OnCpu:
    """Put it into force in this thread, for as long as the process lives."""
    mode = OnCpu()
    mode.__enter__()  # type: ignore[no-untyped-call]

    def nothing(*_args: Any, **_kwargs: Any) -> None:
        mode.tell()

    for name in _WITHOUT_EFFECT:
        setattr(torch.cuda, name, nothing)
    set_default_device, load = torch.set_default_device, torch.load

    @functools.wraps(set_default_device)
    def set_cpu(device: Any) -> None:
        set_default_device("cpu" if _means_cuda(device) else device)

    @functools.wraps(load)
    def load_on_cpu(f: Any, map_location: Any = None, *args: Any, **kwargs: Any) -> Any:
        return load(f, "cpu" if map_location is None or _means_cuda(map_location) else map_location, *args, **kwargs)

    torch.set_default_device = set_cpu
    torch.load = load_on_cpu
    return mode
