"""What the tools here share: one session for all that measure at once, rows of CSV files."""

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
    """The session of all tools that measure at the same time: one process has one.

    The program's own is taken if it is open, else one is started with the first tool and stopped with the last.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._own: Session | None = None
        self._traces = False
        self._holders = 0

    def hold(self, *, kernels: bool | Literal["auto"]) -> Session:
        """Return the open session; each call is followed by one of `release`."""
        session, traces_as_asked = self._take(kernels)
        if not traces_as_asked:
            warnings.warn(
                "another tool began to measure first, and traces no kernels, so layers are told by their time on "
                "the host: start the LayerwiseMeasurementTool first",
                RuntimeWarning,
                stacklevel=3,
            )
        return session

    @contextmanager
    def held(self, *, kernels: bool | Literal["auto"]) -> Iterator[Session]:
        """Hold the open session for the time of a `with` block."""
        session, _ = self._take(kernels)
        try:
            yield session
        finally:
            self.release(session)

    def _take(self, kernels: bool | Literal["auto"]) -> tuple[Session, bool]:
        """Return the open session, and False if another tool began it without the kernels that are asked for."""
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
        """Stop the session if it is ours and nobody else holds it."""
        with self._lock:
            if session is not self._own:
                return
            self._holders -= 1
            if self._holders == 0:
                self._own = None
                session.stop()


shared = SharedSession()


class RowFile:
    """A CSV file that is whole after each row: a row is one write at the file's end.

    Parameters
    ----------
    path : path
        Of the file; replaced.
    columns : list of str
        Its first line.
    """

    def __init__(self, path: str | os.PathLike[str], columns: Sequence[str]) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC
        self._fd = os.open(_arguments.path("out_file", path), flags, 0o666)
        self.write(columns)

    def write(self, values: Iterable[Any]) -> None:
        """Append a row; what is not known is an empty field."""
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerow([cell(value) for value in values])
        line = text.getvalue().encode()
        while line:  # a full disk raises; a signal may cut a write
            line = line[os.write(self._fd, line) :]

    def close(self) -> None:
        """Let go of the file."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def kwh(energy_j: float | None) -> float | None:
    """Return joules as kWh; None stays what it is."""
    return None if energy_j is None else energy_j / J_PER_KWH


_told: set[str] = set()


def tell_if_cpu_is_missing() -> None:
    """Warn, once a process, if the CPU's energy cannot be read, with the ways to allow it."""
    if "cpu" in _told or any(board.kind == "cpu" for board in boards()):
        return
    _told.add("cpu")
    ways = [f"{one.detail}: {one.cure}" for one in doctor() if one.subject.startswith("RAPL") and not one.works]
    warnings.warn(
        "the CPU's energy cannot be read, and its column stays empty. "
        + ("To allow it: " + "; or: ".join(ways) if ways else "Run `joulemap doctor` to see why."),
        RuntimeWarning,
        stacklevel=3,
    )
