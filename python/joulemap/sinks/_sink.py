"""Sink: a thread that passes the figures of a session to a logger, live and at the end."""

from __future__ import annotations

import os
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple, Protocol

from joulemap import _arguments, _core
from joulemap._recording import Recording
from joulemap._session import Session
from joulemap.sinks import _steps
from joulemap.sinks._final import Final, check_pictures
from joulemap.sinks._live import Count, Live

if TYPE_CHECKING:
    import torch
    from typing_extensions import Self

EVERY = 10  # steps
_REST_S = 1.0  # between two queries of energies; more frequent ones would make the sampler commit early
_MOST_WAITING = 256  # queued counts; beyond that the oldest are dropped, and their steps count with the next
_LAST_S = 60.0  # time for the logger to take the queue when the session stops


class Logger(Protocol):
    """A target for figures; calls come from one thread at a time."""

    name: str

    def scalars(self, values: dict[str, float], number: int, wall_s: float) -> None:
        """Log the figures of a step that ended at this Unix time."""

    def final(self, summary: Final, number: int) -> None:
        """Log the summary of the run."""

    def close(self) -> None:
        """Close what the sink has opened."""


class _Waiting(NamedTuple):
    counted: Count
    number: int
    wall_s: float


class Sink:
    """Passes figures of a run to a logger, until `close`, the end of its `with` block, or the end of the session.

    `log_to_tensorboard`, `log_to_mlflow` and `log_to_wandb` make it. If a logger fails, there is one warning.
    """

    def __init__(
        self,
        source: Session | Recording,
        logger: Logger,
        *,
        every: int | None = None,
        seconds: float | None = None,
        step: Callable[[], int] | None = None,
        gpu: int | str | torch.device | None = None,
        figures: Iterable[str] = (),
    ) -> None:
        if every is not None and seconds is not None:
            raise ValueError("every (steps) and seconds exclude each other")
        self._every = _arguments.whole("every", EVERY if every is None else every)
        if self._every == 0:
            raise ValueError("every is a whole number from 1, not 0")
        self._seconds = None if seconds is None else _arguments.real("seconds", seconds, 0, 1e6)
        if step is not None and not callable(step):
            raise TypeError(f"step is callable, not {step!r} ({type(step).__name__})")
        self._step = step
        if gpu is not None:
            _arguments.gpu("gpu", gpu)
        self._gpu = gpu
        self._figures = check_pictures(figures)
        self._source = source
        self._logger = logger
        self._warned = False
        self._closed = False
        self._owner = os.getpid()
        self._number = 0  # of the last logged step
        self._thread: threading.Thread | None = None
        if isinstance(source, Session) and source.running:
            self._follow(source)
        else:
            self.close()

    def close(self) -> None:
        """Log the queue and the summary of the run; does nothing the second time, or in a forked child."""
        if self._closed or self._owner != os.getpid():
            return
        self._closed = True
        if self._thread is not None:
            _steps.leave(self._on_step)
            self._session._at_stop.remove(self.close)
            self._over.set()
            self._wake.set()
            self._thread.join(_LAST_S)
            if self._thread.is_alive():
                self._warn(TimeoutError(f"it still takes what it was given {_LAST_S:g} s ago"))
                return
        self._try(self._log_summary)
        self._try(self._logger.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<joulemap.types.Sink to {self._logger.name}: {'closed' if self._closed else 'open'}>"

    def _follow(self, session: Session) -> None:
        self._session = session
        begin = Count(time.monotonic_ns())
        self._begin_ns = begin.t_ns
        self._count = self._put_count = begin
        self._live = Live(session, self._gpu)
        self._counting = threading.RLock()  # reentrant: the garbage collector may end a step
        self._waiting: deque[_Waiting] = deque(maxlen=_MOST_WAITING)
        self._wake, self._over = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._work, name="joulemap sink", daemon=True)
        session._at_stop.append(self.close)
        self._thread.start()
        _steps.follow(self._on_step)

    # ---- on the program's threads ----

    def _on_step(self, span: _core.Span) -> None:
        """Count a step; after every `every` steps queue the count for the thread."""
        with self._counting:
            last = self._count
            if span.end_ns is None:
                if last.steps > 0 or last.at_step or span.start_ns is None:
                    return  # only the first begin counts: time before it belongs to no step
                self._count = Count(span.start_ns, at_step=True)
                self._put(self._count)
            else:
                steps, samples, tokens = last.steps + 1, last.samples + span.samples, last.tokens + span.tokens
                self._count = Count(max(span.end_ns, last.t_ns), steps, samples, tokens, at_step=True)
                if self._seconds is None and steps % self._every == 0:
                    self._put(self._count)
                    self._wake.set()

    def _put(self, count: Count) -> None:
        """Queue a count, with its number on the logger's axis."""
        number = count.steps
        if self._step is not None:
            try:
                number = int(self._step())
            except Exception as error:
                self._warn(error)
        elif number == 0:  # a program without steps
            number = int(1e-9 * (count.t_ns - self._begin_ns))
        self._put_count = count
        self._waiting.append(_Waiting(count, number, time.time()))

    # ---- on the sink's thread ----

    def _work(self) -> None:
        while not self._over.is_set():
            self._wake.wait(self._seconds)
            self._wake.clear()
            if self._seconds is None:
                self._over.wait(_REST_S)
            elif not self._over.is_set():
                self._put_now()
            self._try(self._log_waiting)
        if self._seconds is not None:
            self._put_now()
        elif self._count.steps > self._put_count.steps:
            self._put(self._count)
        self._try(self._log_waiting)

    def _put_now(self) -> None:
        """Queue the count of the last step if one has ended since the last time, else the present time."""
        with self._counting:
            count = self._count
            if count.t_ns <= self._put_count.t_ns:
                count = count._replace(t_ns=time.monotonic_ns(), at_step=False)
            self._put(count)

    def _log_waiting(self) -> None:
        while self._waiting:
            waiting = self._waiting.popleft()
            values = self._live.figures(waiting.counted)
            if values and (waiting.counted.steps > 0 or not waiting.counted.at_step):
                self._number = waiting.number
                self._logger.scalars(values, waiting.number, waiting.wall_s)

    # ---- at the end ----

    def _log_summary(self) -> None:
        self._logger.final(Final(self._source, self._gpu, self._figures), self._number)

    def _try(self, call: Callable[[], None]) -> None:
        """Call a function; an error becomes a warning, and never stops the program."""
        try:
            call()
        except Exception as error:
            self._warn(error)

    def _warn(self, error: Exception) -> None:
        if not self._warned:
            self._warned = True
            warnings.warn(
                f"joules do not reach {self._logger.name}: {type(error).__name__}: {error}",
                RuntimeWarning,
                stacklevel=2,
            )
