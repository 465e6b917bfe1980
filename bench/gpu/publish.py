"""What a GPU bench has to say: where and when it ran, to the terminal and to a file of results."""

from __future__ import annotations

import datetime
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

import torch


def head(what: str) -> list[str]:
    """Return the lines by which figures are known: bench, date, board, command."""
    return [
        f"{what}: {datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d %H:%M} UTC, {torch.cuda.get_device_name()}, "
        f"PyTorch {torch.__version__}",
        "$ python " + shlex.join([f"bench/gpu/{Path(sys.argv[0]).name}", *sys.argv[1:]]),
    ]


def publish(lines: Sequence[str], out: Path | None) -> None:
    """Print the lines, and append them to the file."""
    text = "\n".join(lines) + "\n\n"
    print(text, end="", flush=True)
    if out:
        out.parent.mkdir(parents=True, exist_ok=True)
        with out.open("a") as file:
            file.write(text)
