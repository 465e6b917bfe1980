"""Prepare the suite: make each kernel, time its calls and capture its bursts; or leave it out, with a reason."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import torch

from joulemap._burst import Burst, CaptureError, Player, call_seconds, first_line
from joulemap.calibration.data import Data, Stock
from joulemap.calibration.kernel import Kernel, Scale

_BURSTS_S = (1e-3, 20e-3)
ENOUGH_S = 0.45  # per kernel
LENGTHS = 4  # bursts of a kernel: one from each part of the range
_TIMED_S = 2e-3
_LONGEST_CALL_S = 10e-3
_MAX_REASON = 120  # characters


@dataclass(frozen=True)
class Entry:
    """A kernel with one size and one kind of data, ready to play.

    Attributes
    ----------
    name, family, data : str
        ``FAMILY/what-shape-dtype``, its family, and its kind of data.
    call_s : float
        Seconds of a call inside a burst.
    bursts : list of Burst
        Its bursts, from short to long.
    """

    name: str
    family: str
    data: str
    call_s: float
    bursts: list[Burst]


@dataclass(frozen=True)
class Ready:
    """The entries that can be played, and the names of others by reason."""

    entries: list[Entry]
    left_out: dict[str, list[str]]

    def reasons(self) -> dict[str, int]:
        """Return the number of kernels that were left out, by reason."""
        return {reason: len(names) for reason, names in self.left_out.items()}


def burst_seconds(chance: random.Random) -> list[float]:
    """Draw the lengths of a kernel's bursts: log-uniform from 1 to 20 ms, one from each of four equal parts."""
    low, high = (math.log(edge_s) for edge_s in _BURSTS_S)
    step = (high - low) / LENGTHS
    return [math.exp(low + step * (i + chance.random())) for i in range(LENGTHS)]


def scale_of(device: torch.device) -> Scale:
    """Return the scale of sizes for this device, from its multiprocessors and its memory."""
    if device.type == "cpu":
        return Scale(tiny=True)
    properties = torch.cuda.get_device_properties(device)
    share = min(properties.multi_processor_count / 132, properties.total_memory / 24e9)
    return Scale(1.0 if share > 0.9 else share)


def chosen(kernels: Sequence[Kernel], seconds: float) -> list[Kernel]:
    """Return as many kernels as get enough time in `seconds`, from as many families as possible.

    Each has one size and one kind of data. This is for a simulated board, where these make no difference.
    """
    families: dict[str, list[Kernel]] = {}
    for kernel in kernels:
        families.setdefault(kernel.family, []).append(kernel)
    rounds = itertools.zip_longest(*families.values())
    ordered = [kernel for round_ in rounds for kernel in round_ if kernel is not None]
    count = max(1, int(seconds / ENOUGH_S))
    return [replace(kernel, sizes=kernel.sizes[:1], data=kernel.data[:1]) for kernel in ordered[:count]]


def make_entry(player: Player, kernel: Kernel, size: tuple[int, ...], data: Data, chance: random.Random) -> Entry:
    """Prepare one kernel.

    Raises
    ------
    CaptureError, torch.cuda.OutOfMemoryError, RuntimeError, ...
        If this board or this version of PyTorch cannot do it.
    """
    with player.stream():
        call = kernel.call(data, size)
    call_s = call_seconds(player, call, _TIMED_S)
    if call_s > _LONGEST_CALL_S and player.device.type != "cpu":  # a busy CPU may be slow
        raise CaptureError(f"a call takes longer than {1e3 * _LONGEST_CALL_S:.0f} ms")
    bursts = [player.burst(call, max(1, round(length_s / call_s))) for length_s in burst_seconds(chance)]
    return Entry(kernel.name(size), kernel.family, data.kind, call_s, bursts)


def make_ready(
    player: Player,
    kernels: Iterable[Kernel],
    scale: Scale,
    chance: random.Random,
    on_progress: Callable[[int], None] = lambda done: None,
) -> Ready:
    """Prepare all kernels; `on_progress` is called with the number of tried ones."""
    stock = Stock(player.device, 1 / 64 if scale.tiny else min(1.0, scale.rows))
    entries: list[Entry] = []
    left_out: dict[str, list[str]] = {}
    done = 0
    for kernel in kernels:
        for size in kernel.sizes:
            for kind in kernel.kinds(size):
                scaled = scale.apply(size)
                try:
                    entries.append(make_entry(player, kernel, scaled, Data(stock, kind, kernel.dtype), chance))
                except Exception as error:
                    reason = f"{type(error).__name__}: {first_line(error)}"[:_MAX_REASON]
                    left_out.setdefault(reason, []).append(f"{kernel.name(scaled)} ({kind})")
                done += 1
                on_progress(done)
    return Ready(entries, left_out)
