"""Helpers of all tools: the session that they share, and rows of CSV files."""

from __future__ import annotations

import csv
import io
import os
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

from joulemap import _arguments
from joulemap._csv import cell
from joulemap._machine import boards, doctor
from joulemap._shared_session import shared as shared

J_PER_KWH = 3.6e6


class RowFile:
    """A CSV file that is complete after each row: a row is one write at the file's end.

    Parameters
    ----------
    path : path
        The file; an existing one is replaced.
    columns : list of str
        Names in the first line.
    """

    def __init__(self, path: str | os.PathLike[str], columns: Sequence[str]) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC
        self._fd = os.open(_arguments.path("out_file", path), flags, 0o666)
        self.write(columns)

    def write(self, values: Iterable[Any]) -> None:
        """Append a row; unknown values are empty fields."""
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerow([cell(value) for value in values])
        line = text.getvalue().encode()
        while line:  # a signal may cut a write; a full disk raises
            line = line[os.write(self._fd, line) :]

    def close(self) -> None:
        """Close the file."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def kwh(energy_j: float | None) -> float | None:
    """Return joules as kWh; None stays None."""
    return None if energy_j is None else energy_j / J_PER_KWH


_warned: set[str] = set()


def warn_if_cpu_is_missing() -> None:
    """Warn, once per process, if the CPU's energy cannot be read, with the ways to allow it."""
    if "cpu" in _warned or any(board.kind == "cpu" for board in boards()):
        return
    _warned.add("cpu")
    ways = [f"{one.detail}: {one.cure}" for one in doctor() if one.subject.startswith("RAPL") and not one.works]
    warnings.warn(
        "the CPU's energy cannot be read, and its column stays empty. "
        + ("To allow it: " + "; or: ".join(ways) if ways else "Run `joulemap doctor` to see why."),
        RuntimeWarning,
        stacklevel=3,
    )
