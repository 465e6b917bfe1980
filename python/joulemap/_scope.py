"""Scope: a phase, epoch, step or window of a session."""

from __future__ import annotations

import functools
import time
import warnings
from collections.abc import AsyncGenerator, Callable, Generator
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from joulemap import _core
from joulemap._texts import energy_text, html_table, seconds_text
from joulemap._threads import task, unwind

if TYPE_CHECKING:
    import torch
    from typing_extensions import Self

    from joulemap._report import Report, Sum
    from joulemap._session import Session

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])

PHASE = _core.SPAN_KINDS["phase"]
EPOCH = _core.SPAN_KINDS["epoch"]
STEP = _core.SPAN_KINDS["step"]
WINDOW = _core.SPAN_KINDS["window"]
KIND_NAMES = {PHASE: "a phase", EPOCH: "an epoch", STEP: "a step", WINDOW: "a window"}


class Scope(_core.Span):
    """A phase, epoch, step or window of a session.

    Use it as a context manager, as a decorator, or through `begin` and `end`. As a decorator each call is a span; of a
    function that yields, from the first value to the last. Outside a run it only warns. `joules` and `report` cover the
    time from its last begin to its end, or to now while it is open. `print` shows it: "12.34 ±0.21 J in 0.52 s".

    Attributes
    ----------
    name : str
        Its name in the rows of reports.
    samples, tokens : int
        Samples and tokens of a step, 0 if unknown; both may be set until it ends.
    start_ns, end_ns : int or None
        CLOCK_MONOTONIC of the last begin and of its end, nanoseconds; None before.
    """

    __slots__ = ("_session", "_type")
    _session: Session
    _type: str

    def _failed(self, exc_type: type[BaseException], /) -> None:
        """Close spans that an exception left open inside; called by the core."""
        if not issubclass(exc_type, GeneratorExit):  # a generator was closed early: nothing failed
            unwind(exc_type, self.start_ns or 0)

    def _unrecorded(self) -> None:
        """Warn that the scope begins outside a run; called by the core."""
        self._session._warn_unless_running(f"{KIND_NAMES[self.kind]} {self.name!r}")

    def _task(self) -> int:
        """Return the asyncio task that begins a step; called by the core."""
        return task()

    def __call__(self, function: FunctionT) -> FunctionT:
        """Decorate a function, plain or async, or a generator: that is open from its first `next` to its end."""
        return functools.wraps(function)(_decorated(self._another, function))  # type: ignore[return-value]

    def _another(self) -> Scope:
        """Return a new scope for a call of a decorated function."""
        if self.kind == STEP:  # a session with a schedule or a budget may have begun since
            return self._session.step(self.samples, str(self.name), tokens=self.tokens)
        return self._session._scope(self.kind, str(self.name), self.samples, self._type, self.tokens)

    def _time_ns(self) -> tuple[int, int]:
        if self.start_ns is None:
            raise RuntimeError(f"{self.name!r} has not begun: nothing to report")
        return self.start_ns, self.end_ns or time.monotonic_ns()

    def report(self, by: str = "layer") -> Report:
        """Report on the time of the scope.

        Parameters
        ----------
        by : str
            Key of the rows, as in `Session.report`.

        Returns
        -------
        Report
            Rows and totals of that time.

        Raises
        ------
        RuntimeError
            If it has not begun.
        ValueError
            If `by` is no key.
        Error
            If the recording cannot be read.
        """
        from_ns, to_ns = self._time_ns()
        return self._session.report(by, from_ns=from_ns, to_ns=to_ns)

    def energy(self, *, gpu: int | str | torch.device | None = None) -> Sum:
        """Return the energy of the scope with its 95 % interval, without a report.

        Right after the end of the scope this waits for the sensors' next readings, some 0.1 s.

        Parameters
        ----------
        gpu : int, str or torch.device, optional
            One GPU, as in `Session.report`; all boards without it.

        Returns
        -------
        Sum
            Joules, with the ends of the 95 % interval.

        Raises
        ------
        RuntimeError
            If it has not begun.
        TypeError, ValueError
            If `gpu` is none of these.
        Error
            If there is no such GPU.
        """
        from_ns, to_ns = self._time_ns()
        return self._session.energy(from_ns, to_ns, gpu=self._gpu_of(gpu))

    @property
    def joules(self) -> float | None:
        """Joules of all boards, as `energy` returns them; None: no sensor measured them."""
        return self.energy().energy_j

    @property
    def interval(self) -> tuple[float, float] | None:
        """Ends of the 95 % interval of `joules`; None: not known."""
        _, low_j, high_j = self.energy()
        return None if low_j is None or high_j is None else (low_j, high_j)

    @property
    def seconds(self) -> float:
        """Seconds from its begin to its end, or to now while it is open."""
        start_ns, end_ns = self._time_ns()
        return 1e-9 * (end_ns - start_ns)

    @property
    def watts(self) -> float | None:
        """Mean power: joules divided by seconds; None: no sensor measured it."""
        joules, seconds = self.joules, self.seconds
        return None if joules is None or seconds <= 0 else joules / seconds

    def _figures(self) -> list[str]:
        """Return energy, time and power as texts, each known part of them."""
        energy, seconds = self.energy(), self.seconds
        texts = [energy_text(*energy), seconds_text(seconds)]
        if energy.energy_j is not None and seconds > 0:
            texts.append(f"{energy.energy_j / seconds:.3g} W")
        return texts

    def _gpu_of(self, gpu: int | str | torch.device | None) -> int | str | torch.device | None:
        """Return the GPU that figures are of: by default that of `measure`."""
        return gpu

    def _boards(self) -> str:
        return self._session._boards_text(self._gpu_of(None))

    def __str__(self) -> str:
        if self.start_ns is None:
            return f"{KIND_NAMES[self.kind]} that has not begun"
        energy, seconds, *power = self._figures()
        text, boards = ", ".join([f"{energy} in {seconds}", *power]), self._boards()
        return f"{text} ({boards})" if boards else text

    def __repr__(self) -> str:
        if self.start_ns is None:
            state = "not begun"
        elif self.end_ns is None:
            state = "open"
        elif self.end_ns <= self._session._known_ns():  # without a wait for readings
            state = " in ".join(self._figures()[:2])
        else:
            state = seconds_text(self.seconds)
        return f"<joulemap.types.Scope {KIND_NAMES[self.kind].split()[-1]} {self.name!r}: {state}>"

    def _repr_html_(self) -> str:
        if self.start_ns is None:
            return html_table(str(self), (), ())
        texts = self._figures()
        return html_table(self._boards(), ("", "energy", "time", "power")[: 1 + len(texts)], [(str(self.name), *texts)])


def _decorated(another: Callable[[], Scope], function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of the same kind whose calls are scopes."""
    import inspect  # a fifth of what `import joulemap` takes

    def call(*args: Any, **kwargs: Any) -> Any:
        with another() as scope:
            result = function(*args, **kwargs)
        if inspect.iscoroutine(result) or inspect.isgenerator(result) or inspect.isasyncgen(result):
            warnings.warn(
                f"{scope.name!r} ends as its function returns: what the {type(result).__name__} that it returned does "
                "later is not in it; decorate the function that yields or awaits",
                RuntimeWarning,
                stacklevel=2,
            )
        return result

    async def wait(*args: Any, **kwargs: Any) -> Any:
        with another():
            return await function(*args, **kwargs)

    def generate(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        with another():
            return (yield from function(*args, **kwargs))

    async def generate_async(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        source = function(*args, **kwargs)
        step = source.__anext__()
        with another():
            while True:
                try:
                    item = await step
                except StopAsyncIteration:
                    return
                try:
                    step = source.asend((yield item))
                except GeneratorExit:
                    await source.aclose()
                    raise
                except BaseException as error:
                    step = source.athrow(error)

    for candidate in (function, type(function).__call__):  # a function, or a callable object
        if inspect.iscoroutinefunction(candidate):
            return wait
        if inspect.isgeneratorfunction(candidate):
            return generate
        if inspect.isasyncgenfunction(candidate):
            return generate_async
    return call


class ScheduledStep(Scope):
    """A step of a session with a schedule or a budget. It begins at once; a `with` block ends it earlier."""

    __slots__ = ("entered",)
    entered: bool

    def __enter__(self) -> Self:
        self.entered = True
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None:
        self.entered = False
        super().__exit__(exc_type, exc, traceback)

    def __call__(self, function: FunctionT) -> FunctionT:
        """Raise TypeError: the step has begun already, while the function is defined."""
        raise TypeError(
            "a step of a running session with a schedule or a budget begins at once, so it is not a decorator: write "
            "`run.step()` at the end of each step, or `with run.step():` inside of the function"
        )
