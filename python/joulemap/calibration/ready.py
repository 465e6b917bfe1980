"""Making the suite ready: each kernel made, its calls timed, its bursts captured; or left out, with a reason."""

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
ENOUGH_S = 0.45  # of a kernel
LENGTHS = 4  # bursts of a kernel: one from each part of the range
_TIMED_S = 2e-3
_LONGEST_CALL_S = 10e-3
_REASON = 120


@dataclass(frozen=True)
class Entry:
    """A kernel at one size on one kind of data, ready to play.

    Attributes
    ----------
    name, family, data : str
        ``FAMILY/what-shape-dtype``, its family, its kind of data.
    call_s : float
        Seconds of a call inside a burst.
    bursts : list of Burst
        From short to long.
    """

    name: str
    family: str
    data: str
    call_s: float
    bursts: list[Burst]


@dataclass(frozen=True)
class Ready:
    """What can be played, and why the rest cannot: names by reason."""

    entries: list[Entry]
    left_out: dict[str, list[str]]

    def reasons(self) -> dict[str, int]:
        """Return how many were left out, by reason."""
        return {reason: len(names) for reason, names in self.left_out.items()}


def burst_seconds(chance: random.Random) -> list[float]:
    """Draw the lengths of a kernel's bursts: log-uniform over 1 to 20 ms, one from each part of it."""
    low, high = (math.log(edge_s) for edge_s in _BURSTS_S)
    step = (high - low) / LENGTHS
    return [math.exp(low + step * (i + chance.random())) for i in range(LENGTHS)]


def scale_of(device: torch.device) -> Scale:
    """Return how the sizes of an H100 fit this device: by its multiprocessors and its memory."""
    if device.type == "cpu":
        return Scale(tiny=True)
    about = torch.cuda.get_device_properties(device)
    share = min(about.multi_processor_count / 132, about.total_memory / 24e9)
    return Scale(1.0 if share > 0.9 else share)


def chosen(kernels: Sequence[Kernel], seconds: float) -> list[Kernel]:
    """Return as many kernels as get enough time in so many seconds, of as many families as there are.

    Each is of one size and one kind of data: for a simulated board, to which all are alike.
    """
    families: dict[str, list[Kernel]] = {}
    for kernel in kernels:
        families.setdefault(kernel.family, []).append(kernel)
    rounds = itertools.zip_longest(*families.values())
    ordered = [kernel for turn in rounds for kernel in turn if kernel is not None]
    count = max(1, int(seconds / ENOUGH_S))
    return [replace(kernel, sizes=kernel.sizes[:1], data=kernel.data[:1]) for kernel in ordered[:count]]


def make_entry(player: Player, kernel: Kernel, size: tuple[int, ...], data: Data, chance: random.Random) -> Entry:
    """Make one kernel ready.

    Raises
    ------
    CaptureError, torch.cuda.OutOfMemoryError, RuntimeError, ...
        Whatever this board or this PyTorch says of what it cannot do.
    """
    with player.stream():
        call = kernel.call(data, size)
    call_s = call_seconds(player, call, _TIMED_S)
    if call_s > _LONGEST_CALL_S and player.device.type != "cpu":  # a busy CPU takes its time
        raise CaptureError(f"a call takes longer than {1e3 * _LONGEST_CALL_S:.0f} ms")
    bursts = [player.burst(call, max(1, round(length_s / call_s))) for length_s in burst_seconds(chance)]
    return Entry(kernel.name(size), kernel.family, data.kind, call_s, bursts)


def make_ready(
    player: Player,
    kernels: Iterable[Kernel],
    scale: Scale,
    chance: random.Random,
    told: Callable[[int], None] = lambda done: None,
) -> Ready:
    """Make all kernels ready; `told` hears how many have been tried."""
    stock = Stock(player.device, 1 / 64 if scale.tiny else min(1.0, scale.rows))
    entries: list[Entry] = []
    left_out: dict[str, list[str]] = {}
    done = 0
    for kernel in kernels:
        for size in kernel.sizes:
            for kind in kernel.kinds(size):
                here = scale.apply(size)
                try:
                    entries.append(make_entry(player, kernel, here, Data(stock, kind, kernel.dtype), chance))
                except Exception as error:
                    reason = f"{type(error).__name__}: {first_line(error)}"[:_REASON]
                    left_out.setdefault(reason, []).append(f"{kernel.name(here)} ({kind})")
                done += 1
                told(done)
    return Ready(entries, left_out)
