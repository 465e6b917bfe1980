"""What a GPU bench has to say: where and when it ran, to the terminal and to a file of results."""

from __future__ import annotations

import datetime
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch


def _gpu() -> str:
    return torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU"


def head(what: str) -> list[str]:
    """Return the lines by which figures are known: bench, date, board, command."""
    return [
        f"{what}: {datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d %H:%M} UTC, {_gpu()}, "
        f"PyTorch {torch.__version__}",
        "$ python " + shlex.join([f"bench/gpu/{Path(sys.argv[0]).name}", *sys.argv[1:]]),
    ]


def spread(offs: Mapping[str, Sequence[float]]) -> list[str]:
    """Return a line a way to tell energies: the median of how far off they are, and what one in twenty exceeds."""
    lines = []
    for way, off in offs.items():
        middle, most = np.percentile(np.abs(off), [50, 95])
        lines.append(f"{way}: median {100 * middle:.1f} %, 95th percentile {100 * most:.1f} %")
    return lines


def append(lines: Sequence[str], out: Path | None) -> None:
    """Append the lines to the file, if there is one."""
    if out:
        out.parent.mkdir(parents=True, exist_ok=True)
        with out.open("a") as file:
            file.write("\n".join(lines) + "\n\n")


def publish(lines: Sequence[str], out: Path | None) -> None:
    """Print the lines, and append them to the file."""
    print("\n".join(lines) + "\n", flush=True)
    append(lines, out)
