"""FLOPs and bytes of a model's layers, for the energy roofline."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch


def count(model: torch.nn.Module, *inputs: Any, **keywords: Any) -> dict[str, tuple[float, float]]:
    """Return FLOPs and bytes of a forward call of each layer, by its path.

    This runs one forward pass without gradients. FLOPs are those of `torch.utils.flop_counter` (matrix products,
    convolutions, attention). Bytes are the reads and writes of each operator, without fusion or caches; views count
    nothing. A layer includes its submodules; for several calls the result is the mean.

    Parameters
    ----------
    model : torch.nn.Module
        The model, as given to `Session.watch`.
    *inputs, **keywords
        Arguments of its forward pass.

    Returns
    -------
    dict
        (FLOPs, bytes) by path. The path of the model itself is the name of its class.

    Raises
    ------
    ImportError
        Without PyTorch.
    """
    try:
        import torch
        from torch.utils.flop_counter import FlopCounterMode
    except ImportError as error:
        raise ImportError("counting FLOPs needs PyTorch 2.1 or newer: pip install torch") from error
    moved = _bytes_mode()
    flops = FlopCounterMode(display=False)

    def now() -> tuple[float, float]:
        return float(flops.get_total_flops()), float(moved.total)

    tally = _Tally(now)
    handles = tally.hook(model)
    try:
        with torch.no_grad(), flops, moved:
            model(*inputs, **keywords)
    finally:
        for handle in handles:
            handle.remove()
    return tally.means()


class _Tally:
    """Measures two counters over each call of each module."""

    def __init__(self, now: Callable[[], tuple[float, float]]) -> None:
        self._now = now
        self._begun: list[tuple[float, float]] = []
        self._sums: dict[str, tuple[int, float, float]] = {}

    def hook(self, model: torch.nn.Module) -> list[Any]:
        handles: list[Any] = []
        for path, module in model.named_modules():
            name = path or type(model).__name__
            handles.append(module.register_forward_pre_hook(lambda *_: self._begun.append(self._now()), prepend=True))
            handles.append(module.register_forward_hook(lambda *_, name=name: self._end(name)))
        return handles

    def _end(self, name: str) -> None:
        (flop, byte), (flop_then, byte_then) = self._now(), self._begun.pop()
        calls, flops, moved = self._sums.get(name, (0, 0.0, 0.0))
        self._sums[name] = (calls + 1, flops + flop - flop_then, moved + byte - byte_then)

    def means(self) -> dict[str, tuple[float, float]]:
        return {name: (flops / calls, moved / calls) for name, (calls, flops, moved) in self._sums.items()}


def _bytes_mode() -> Any:
    """Return a dispatch mode whose `total` counts the bytes of operators' inputs and outputs."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves

    class Bytes(TorchDispatchMode):
        total = 0

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            result = func(*args, **(kwargs or {}))
            if not getattr(func, "is_view", False):
                for value in tree_leaves((args, kwargs, result)):
                    if isinstance(value, torch.Tensor):
                        self.total += value.numel() * value.element_size()
            return result

    mode: Any = Bytes
    return mode()
