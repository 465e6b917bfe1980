"""The program: prepare the suite, then record rest, the suite, a square wave, and rest.

Without a suite it records rest, the square wave and rest, and samples no counters.
"""

from __future__ import annotations

import argparse
import random
import signal
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType

import torch

import joulemap
from joulemap._burst import player_of
from joulemap._progress_bar import Bar
from joulemap._session import MeasuringSession
from joulemap.calibration.kernel import Kernel
from joulemap.calibration.play import PlayedSuite, play, square_wave
from joulemap.calibration.prepare import ENOUGH_S, Entry, Ready, chosen, make_ready, scale_of
from joulemap.calibration.suite import KERNELS

# Exit codes of the command.
EXIT_NOT_SUPPORTED = 69
EXIT_BUSY = 75
EXITS = {"NO_DEVICE": 69, "DISK_FULL": 73, "IO": 74, "BUSY": EXIT_BUSY, "NO_PERMISSION": 77}
EXIT_SIGNAL = 128
SIMULATED = "h200"
COUNTERS_S = 60  # per minute: always
IDLE_S = 3.0
RESPONSE_S = 5.0


def why_no_gpu() -> str:
    """Return why CUDA cannot be used; "" if it works."""
    if torch.version.cuda is None:
        return f"PyTorch {torch.__version__} is built without CUDA: install a build with it"
    if not torch.cuda.is_available():
        return f"PyTorch {torch.__version__} (CUDA {torch.version.cuda}) finds no GPU: `joulemap doctor` may show why"
    return ""


def session(
    path: Path, device: torch.device, overwrite: bool, sim: str = SIMULATED, *, counters: bool = True
) -> joulemap.Session:
    """Return the session that records the suite; counters are sampled always or never."""
    return MeasuringSession(
        path=path,
        overwrite=overwrite,
        counters=COUNTERS_S if counters else False,
        sim=sim if device.type == "cpu" else None,
    )


def kernels_for(seconds: float, tiny: bool) -> Sequence[Kernel]:
    """Return the kernels to prepare: matrix products for a square wave alone, fewer on a simulated board."""
    if seconds == 0:
        products = [kernel for kernel in KERNELS if kernel.family == "product"]
        return chosen(products, ENOUGH_S) if tiny else products
    return chosen(KERNELS, seconds) if tiny else KERNELS


def heaviest(entries: Sequence[Entry]) -> Entry:
    """Return the entry for the square wave: the longest matrix product, which draws the most power in training."""
    on_random = [entry for entry in entries if entry.data == "random"] or list(entries)
    products = [entry for entry in on_random if entry.family == "product" and entry.name.endswith("bf16")]
    return max(products or on_random, key=lambda entry: entry.call_s)


def calibrate(
    run: joulemap.Session,
    device: torch.device,
    seconds: float,
    seed: int,
    on_progress: Callable[[str, float], None] = lambda what, share: None,
    idle_s: float = IDLE_S,
    response_s: float = RESPONSE_S,
) -> tuple[Ready, PlayedSuite]:
    """Play all phases in a running session: `idle`, `suite`, `response`, `idle`.

    Parameters
    ----------
    run : Session
        The session that records.
    device : torch.device
        A GPU, or the CPU for a simulated board.
    seconds : float
        Maximum time of the suite, seconds; 0: no suite.
    seed : int
        Seed of data, order, lengths and gaps.
    on_progress : callable
        Called with the present action and its progress, 0 to 1.
    idle_s, response_s : float
        Seconds of rest before and after, and of the square wave.

    Returns
    -------
    Ready, PlayedSuite
        The prepared kernels and the ones left out; what was played.

    Raises
    ------
    RuntimeError
        If no kernel could be played.
    """
    torch.manual_seed(seed)
    chance = random.Random(seed)
    player = player_of(device)
    scale = scale_of(device)
    kernels = kernels_for(seconds, scale.tiny)
    lines = sum(len(kernel.kinds(size)) for kernel in kernels for size in kernel.sizes)
    ready = make_ready(player, kernels, scale, chance, lambda done: on_progress("making ready", done / lines))
    if not ready.entries:
        raise RuntimeError("no kernel of the suite runs here: " + "; ".join(ready.left_out))
    for reason, count in ready.reasons().items():
        run.mark("left out", reason=reason, kernels=count)
    run.mark("suite", entries=len(ready.entries), left_out=lines - len(ready.entries), seed=seed)
    player.synchronize()
    with run.phase("idle"):
        time.sleep(idle_s)
    played = PlayedSuite(0, [0.0])
    if seconds > 0:
        with run.phase("suite"):
            played = play(run, player, ready.entries, seconds, chance, lambda share: on_progress("suite", share))
    with run.phase("response"):
        square_wave(
            run, player, heaviest(ready.entries), response_s, chance, lambda share: on_progress("response", share)
        )
    with run.phase("idle"):
        time.sleep(idle_s)
    return ready, played


def summary(ready: Ready, played: PlayedSuite, path: Path, device: torch.device) -> str:
    """Return a summary of what was played and what was left out, by reason."""
    families = {entry.family for entry in ready.entries}
    least_s, most_s = min(played.seconds), max(played.seconds)
    lines = [
        f"{path}: {len(ready.entries)} kernels of {len(families)} families, {played.bursts} bursts, "
        f"{least_s:.2f} to {most_s:.2f} s of each"
    ]
    if device.type == "cuda":
        lines.append(f"most memory: {torch.cuda.max_memory_reserved(device) / 2**30:.1f} GiB")
    for reason, names in ready.left_out.items():
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        lines.append(f"left out, {reason}: {', '.join(names[:3])}{more}")
    return "\n".join(lines)


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m joulemap.calibration",
        description="Play and record the kernels out of which a board's power is learnt.",
    )
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help="recording to write")
    parser.add_argument("--seconds", type=float, default=60.0, help="of the suite at most (default: 60; 0: none)")
    parser.add_argument("--seed", type=int, default=0, help="of data, order, lengths and gaps (default: 0)")
    parser.add_argument("--device", default="cuda", help="cuda, cuda:1, or cpu: tiny, beside a simulated board")
    parser.add_argument("--sim", default=SIMULATED, help="with --device cpu: the simulated board (default: h200)")
    parser.add_argument("--idle", type=float, default=IDLE_S, help="seconds of rest before and after (default: 3)")
    parser.add_argument("--response", type=float, default=RESPONSE_S, help="seconds of the square wave (default: 5)")
    parser.add_argument("--force", action="store_true", help="replace an existing recording")
    parser.add_argument("--quiet", action="store_true", help="do not say what was played")
    return parser.parse_args(given)


class EndedError(KeyboardInterrupt):
    """Raised by a signal that ends the program; the first argument is its number."""


def end_at_signals() -> None:
    """Make SIGINT, SIGTERM and SIGHUP close the recording first."""

    def end(number: int, _frame: FrameType | None) -> None:
        raise EndedError(number)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end)


def record(options: argparse.Namespace, device: torch.device, bar: Bar) -> int:
    """Play and record the suite; return the exit status."""
    run = session(options.output, device, options.force, options.sim, counters=options.seconds > 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # printed below
        run.start()
    with run:
        if run.attached:
            print("joulemap.calibration: it records itself: run it without `joulemap record`", file=sys.stderr)
            return EXIT_BUSY
        ready, played = calibrate(run, device, options.seconds, options.seed, bar.show, options.idle, options.response)
    bar.end()
    if not options.quiet:
        print(summary(ready, played, options.output, device))
    return 0


def main(given: Sequence[str] | None = None) -> int:
    """Run the program; return its exit status."""
    options = arguments(given)
    device = torch.device(options.device)
    reason = why_no_gpu() if device.type == "cuda" else ""
    if reason:
        print(
            f"joulemap.calibration: {reason}; --device cpu tries the suite in small on a simulated board",
            file=sys.stderr,
        )
        return EXIT_NOT_SUPPORTED
    bar = Bar()
    end_at_signals()
    try:
        return record(options, device, bar)
    except EndedError as ended:
        bar.end()
        return EXIT_SIGNAL + int(ended.args[0])
    except (joulemap.Error, RuntimeError) as error:
        bar.end()
        print(f"joulemap.calibration: {error}", file=sys.stderr)
        return EXITS.get(error.status, 1) if isinstance(error, joulemap.Error) else 1
