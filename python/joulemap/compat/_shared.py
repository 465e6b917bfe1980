"""Helpers of all tools: one session for tools that measure at the same time, and rows of CSV files."""

from __future__ import annotations

import csv
import io
import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

from joulemap import _arguments
from joulemap._csv import cell
from joulemap._locks import Lock
from joulemap._machine import boards, doctor
from joulemap._session import MeasuringSession, Session, current_session

J_PER_KWH = 3.6e6


class SharedSession:
    """The common session of tools that measure at the same time.

    It is the program's open session; otherwise it starts with the first tool and stops with the last one.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._own: Session | None = None
        self._traces = False
        self._holders = 0

    def hold(self, *, kernels: bool | Literal["auto"]) -> Session:
        """Return the open session; each call needs a call of `release`."""
        session, traces_as_requested = self._take(kernels)
        if not traces_as_requested:
            warnings.warn(
                "another tool began to measure first, and traces no kernels, so layers are told by their time on "
                "the host: start the LayerwiseMeasurementTool first",
                RuntimeWarning,
                stacklevel=3,
            )
        return session

    @contextmanager
    def held(self, *, kernels: bool | Literal["auto"]) -> Iterator[Session]:
        """Hold the open session during a `with` block."""
        session, _ = self._take(kernels)
        try:
            yield session
        finally:
            self.release(session)

    def _take(self, kernels: bool | Literal["auto"]) -> tuple[Session, bool]:
        """Return the open session, and False if another tool began it without the requested kernels."""
        with self._lock:
            session = current_session()
            if session is None:
                session = self._own = MeasuringSession(kernels=kernels).start()
                self._holders, self._traces = 0, kernels is not False
            if session is not self._own:
                return session, True
            self._holders += 1
            return session, self._traces or not kernels

    def release(self, session: Session) -> None:
        """Stop the session if it is ours and no other tool holds it."""
        with self._lock:
            if session is not self._own:
                return
            self._holders -= 1
            if self._holders == 0:
                self._own = None
                session.stop()


shared = SharedSession()


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
