"""One session for all that measure at the same time: `joulemap.measure`, and the tools of `joulemap.compat`."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from joulemap._locks import Lock
from joulemap._session import MeasuringSession, Session, current_session


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
