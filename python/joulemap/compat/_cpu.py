"""Run CUDA programs on the CPU, on a machine with a simulated board."""

from __future__ import annotations

import functools
import sys
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from joulemap._machine import boards

_WITHOUT_EFFECT = ("synchronize", "reset_peak_memory_stats", "reset_max_memory_allocated")

_TAKE_NUMBERS = (torch.Tensor.to, torch._C._nn._parse_to)  # 0 is "cuda:0"; the latter parses arguments of Module.to


def is_simulated() -> bool:
    """Return whether all GPUs of this machine are simulated, and CUDA has none."""
    if torch.cuda.is_available():
        return False
    gpus = [board for board in boards() if board.kind == "gpu"]
    return bool(gpus) and all(board.simulated for board in gpus)


def device_here(device: str | int | torch.device) -> torch.device:
    """Return the device; the CPU in place of CUDA if the board is simulated."""
    requested = torch.device("cuda", device) if isinstance(device, int) else torch.device(device)
    return torch.device("cpu") if requested.type == "cuda" and is_simulated() else requested


def _is_cuda(value: Any) -> bool:
    if isinstance(value, torch.device):
        return value.type == "cuda"
    return isinstance(value, str) and value.split(":")[0] == "cuda"


class OnCpu(TorchFunctionMode):
    """Replaces "cuda" by the CPU in all functions of PyTorch that take a device, and prints a notice once.

    `torch.cuda.is_available()` is not changed: programs that check it take their own path.
    """

    def __init__(self) -> None:
        super().__init__()
        self._notified = False

    def notify(self) -> None:
        """Print the notice, once."""
        if not self._notified:
            self._notified = True
            print(
                "joulemap.compat: no CUDA here, but a simulated GPU: what asks for CUDA runs on the CPU",
                file=sys.stderr,
            )

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call a function of PyTorch, with the CPU in place of CUDA."""
        kwargs = kwargs or {}
        if func is torch.Tensor.cuda:
            self.notify()
            return args[0]
        takes_number = func in _TAKE_NUMBERS

        def replaced(value: Any) -> Any:
            if not _is_cuda(value) and not (takes_number and type(value) is int):
                return value
            self.notify()
            return torch.device("cpu")

        args = tuple(map(replaced, args))
        if "device" in kwargs:
            kwargs = {**kwargs, "device": replaced(kwargs["device"])}
        return func(*args, **kwargs)


def install() -> OnCpu:
    """Activate the mode in this thread until the process ends."""
    mode = OnCpu()
    mode.__enter__()  # type: ignore[no-untyped-call]

    def nothing(*_args: Any, **_kwargs: Any) -> None:
        mode.notify()

    for name in _WITHOUT_EFFECT:
        setattr(torch.cuda, name, nothing)
    set_default_device, load = torch.set_default_device, torch.load

    @functools.wraps(set_default_device)
    def set_cpu(device: Any) -> None:
        set_default_device("cpu" if _is_cuda(device) else device)

    @functools.wraps(load)
    def load_on_cpu(f: Any, map_location: Any = None, *args: Any, **kwargs: Any) -> Any:
        return load(f, "cpu" if map_location is None or _is_cuda(map_location) else map_location, *args, **kwargs)

    torch.set_default_device = set_cpu
    torch.load = load_on_cpu
    return mode
