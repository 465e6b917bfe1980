"""Session: a recorded run of this process, or its part in the run of a recorder above it."""

from __future__ import annotations

import atexit
import json
import math
import os
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from joulemap import _arguments, _cap_recovery, _core
from joulemap import _serving as serving
from joulemap._found_steps import found_steps
from joulemap._frameworks import frameworks
from joulemap._locks import Lock
from joulemap._nvtx import Injection
from joulemap._reporting import Reporting
from joulemap._schedule import ScheduleStepper, Stepper, TracingCost
from joulemap._scope import EPOCH, KIND_NAMES, PHASE, STEP, WINDOW, ScheduledStep, Scope
from joulemap._session_options import SessionOptions
from joulemap._threads import unwind

if TYPE_CHECKING:
    from typing_extensions import Self

    from joulemap.torch import Watch

ScopeT = TypeVar("ScopeT", bound=Scope)

FLUSH_TIMEOUT_S = 10.0
_MAX_TIMEOUT_S = 1e6
_MAX_COUNT = 2**32 - 1


def _scalar(value: Any) -> Any:
    """Convert a scalar of NumPy, PyTorch or JAX to a Python number."""
    try:
        return value.item()
    except (AttributeError, TypeError, ValueError, RuntimeError):  # no scalar
        raise TypeError(f"{value!r} ({type(value).__name__})") from None


def _json(values: dict[str, Any]) -> str:
    text = json.dumps(values, default=_scalar)
    if "NaN" not in text and "Infinity" not in text:
        return text
    return json.dumps(json.loads(text, parse_constant=lambda word: None))


class Session(Reporting):
    """Record boards, spans and kernels of this process, in memory or into a file.

    A process that `joulemap record` started joins that run instead: boards are not read twice, and the recorder writes
    the recording. Only one session can be open in a process at a time.

    A process that `joulemap dormant` started waits: it is recorded while `joulemap attach` is connected, and has
    nothing to report itself.

    Parameters
    ----------
    path : path, optional
        Recording file, written during the run; without it the recording is in memory.
    kernels : "auto", True or False
        Trace kernels of this process through CUPTI. "auto" does so if CUDA and CUPTI are available and no other
        profiler of this process uses them. Otherwise the timeline has only spans, and a note of the report says why;
        True fails in that case. A simulated board has no kernels. Under `joulemap record` the recorder decides.
    sim : str, optional
        Profile of the simulated board ("h200"). Without it the profile of JOULEMAP_SIM, else the real boards.
    schedule : callable, optional
        Trace only some steps: a schedule of `joulemap.schedule` or `torch.profiler.schedule`. `step` advances it, and
        reports cover its windows. Sensors are read all the time: rows by board have the energy of the whole run.
    budget : float, optional
        Share of its time by which tracing may slow the program down (0.01: 1 %). It decides which steps are traced; the
        slowdown of traced steps is measured. Reports extrapolate to untraced steps from traced steps of the same name,
        phase and counts. It needs steps, marked or found: without any, everything is traced. `step` works as with a
        schedule. `joulemap record --budget` sets it for the whole run, unless it is given here.
    on_window_ready : callable, optional
        Called with the session at the end of each window; `window_ns` is its time.
    overwrite : bool
        Replace an existing file.
    cpu : bool
        Also read the CPU's energy (RAPL), if this user may read it.
    counters : bool or float, optional
        Seconds per minute in which a sampler of hardware counters, a separate process, is on the GPU, starts and stops
        included. 60 is always, True is 1.8, 3 % of the time. The default is 1.8 if kernels are traced and this user may
        read counters.
    keep_s : float, optional
        For runs of days: condense data that are older than this, seconds. One traced step per minute stays and
        represents the others; power becomes the mean of each second. Totals stay exact.
    max_bytes : int, optional
        Condense more and earlier, so that the recording stays below this size; more than 1 MB.
    steps : "auto" or False
        "auto" finds steps if the program marks none with `step`: while a model is watched, batches of data loaders and
        forward passes of Hugging Face's `generate`, with their samples and tokens. False: only marked steps count.

    Raises
    ------
    TypeError, ValueError
        If an argument is wrong.
    NoDeviceError
        On start, if there is no board, real or simulated.
    Error
        On start, if the file exists or cannot be written, or kernels cannot be traced and `kernels` is True.

    Examples
    --------
    >>> with joulemap.Session() as run:  # doctest: +SKIP
    ...     run.watch(model)
    ...     for x, y in loader:
    ...         with run.step(samples=len(x)):
    ...             train_step(x, y)
    >>> print(run.report().table())  # doctest: +SKIP
    """

    _may_wait = True  # in a dormant process: for a recorder to attach

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        kernels: bool | Literal["auto"] = "auto",
        sim: str | None = None,
        *,
        schedule: Callable[[int], Any] | None = None,
        budget: float | None = None,
        on_window_ready: Callable[[Session], object] | None = None,
        overwrite: bool = False,
        cpu: bool = True,
        counters: bool | float | None = None,
        steps: Literal["auto", False] = "auto",
        keep_s: float | None = None,
        max_bytes: int | None = None,
    ) -> None:
        super().__init__()
        self._options = SessionOptions.checked(
            path=path,
            sim=sim,
            kernels=kernels,
            steps=steps,
            schedule=schedule,
            on_window_ready=on_window_ready,
            budget=budget,
            overwrite=overwrite,
            cpu=cpu,
            counters=counters,
            keep_s=keep_s,
            max_bytes=max_bytes,
        )
        self._stepper: Stepper | None = None
        self._run: _core.Run | None = None
        self._injection: Injection | None = None
        self._running = False
        self._warned = ""
        self._owner = os.getpid()
        self._watches: list[Watch] = []
        self._at_stop: list[Callable[[], None]] = []  # called when it has stopped; they must not raise
        self._began_ns = 0
        self._complete_ns = 0  # the recording is complete up to this time

    # ---- life ----

    def start(self) -> Self:
        """Start the run, or join that of `joulemap record`. A `with` block calls it.

        Returns
        -------
        Session
            This session.

        Raises
        ------
        RuntimeError
            If a session is open in this process already, or this one has run.
        NoDeviceError
            If there is no board, real or simulated.
        Error
            If the file exists or cannot be written, or kernels cannot be traced and `kernels` is True.
        """
        with _current.lock:
            if isinstance(_current.session, FoundSession) and not isinstance(self, FoundSession):
                _current.session.stop()  # the program has one of its own
            if _current.session is not None and _current.session._owner == os.getpid():
                raise RuntimeError(
                    "a Session is open already in this process: stop it first, or use joulemap.current_session()"
                )
            if self._run is not None:
                raise RuntimeError("this Session has run: make a new one for the next run")
            _cap_recovery.restore(stacklevel=2)
            self._began_ns = time.monotonic_ns()
            self._run = self._options.start(may_wait=self._may_wait)
            self._injection = Injection(self._run.environment())
            self._owner = os.getpid()
            self._running = True
            found_steps.reset()
            serving.start_run()
            _current.session = self
        frameworks.begin(self._options.find_steps)
        atexit.register(self._stop_at_exit)
        if self._run.dormant:
            if self._options.path is not None:
                warnings.warn(
                    "this process was started dormant: it writes no recording, `joulemap attach` does",
                    RuntimeWarning,
                    stacklevel=2,
                )
        elif self._run.attached and (self._options.path is not None or self._options.sim is not None):
            warnings.warn(
                "this process is recorded by `joulemap record`: path and sim are those of that run",
                RuntimeWarning,
                stacklevel=2,
            )
        if self._options.budget > 0:
            self._stepper = Stepper()
        if self._options.schedule is not None:
            self._stepper = stepper = ScheduleStepper(
                self, self._run, self._options.schedule, self._options.on_window_ready
            )
            try:
                stepper.start(self._scheduled_step())
            except BaseException:
                self._stepper = None
                self.stop()
                raise
        return self

    def stop(self) -> None:
        """Unwatch all models, take the last readings and close the file. Reports can still be made.

        A second call does nothing.

        Raises
        ------
        Error
            If the recording could not be completed.
        """
        if not self._running or self._run is None or self._owner != os.getpid():
            return
        self._running = False
        atexit.unregister(self._stop_at_exit)
        try:
            try:
                if self._stepper is not None:
                    self._stepper.finish()
                for watch in self._watches:
                    watch.look()
            finally:
                self.unwatch()
                frameworks.end()
                if self._injection is not None:
                    self._injection.end()
                unwind(KeyboardInterrupt)  # closes all that this thread has left open
                with self._lock:
                    self._run.stop()
        finally:
            with _current.lock:
                if _current.session is self:
                    _current.session = None
            for finish in tuple(self._at_stop):
                finish()

    def _stop_at_exit(self) -> None:
        try:
            self.stop()
        except _core.Error as error:
            warnings.warn(str(error), RuntimeWarning, stacklevel=1)

    def __enter__(self) -> Self:
        return self if self._running else self.start()

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if exc_type is None:
            self.stop()
        else:  # the program's own exception matters more
            self._stop_at_exit()

    @property
    def running(self) -> bool:
        """True between start and stop."""
        return self._running

    @property
    def attached(self) -> bool:
        """True if a parent process records (`joulemap record`)."""
        return self._started().attached

    @property
    def dormant(self) -> bool:
        """True if `joulemap dormant` started this process: it is recorded only by `joulemap attach`."""
        return self._started().dormant

    @property
    def recording_path(self) -> str | None:
        """Path of the recording; None if it is in memory, or if this process records nothing."""
        return self._started().path

    @property
    def kernels_missing(self) -> str | None:
        """Why requested kernels of this process are not traced; None if nothing is missing."""
        return self._started().kernels_missing

    @property
    def window_ns(self) -> tuple[int, int] | None:
        """Begin and end of the schedule's last window, CLOCK_MONOTONIC nanoseconds; None before the first."""
        return None if self._stepper is None else self._stepper.window_ns

    @property
    def tracing_cost(self) -> TracingCost | None:
        """Cost of tracing so far, as the session measures it; None without a budget."""
        cost = self._started().tracing_cost()
        return None if cost is None else TracingCost(*cost)

    def environment(self) -> dict[str, str]:
        """Return the variables that a child process needs to join this run.

        Returns
        -------
        dict
            Variables by name, for `subprocess.run(..., env={**os.environ, **run.environment()})`.

        Raises
        ------
        RuntimeError
            If the session has not started.
        """
        return dict(entry.split("=", 1) for entry in self._started().environment())

    def _started(self) -> _core.Run:
        if self._run is None:
            raise RuntimeError("this Session has not started: use it in `with`, or call start()")
        return self._run

    def _warn_unless_running(self, what: str) -> None:
        """Warn that `what` is not recorded, once before the start and once after the end."""
        state = "has not started: use it in `with`, or call start()" if self._run is None else "has stopped"
        if self._running or self._warned == state:
            return
        self._warned = state
        warnings.warn(f"{what} is not recorded: this Session {state}", RuntimeWarning, stacklevel=3)

    def __repr__(self) -> str:
        state = "running" if self._running else "not started" if self._run is None else "stopped"
        where = "in memory" if self._options.path is None else repr(self._options.path)
        return f"<joulemap.Session {where}: {state}>"

    def _scheduled_step(self, samples: int = 0, name: str = "step", tokens: int = 0) -> ScheduledStep:
        scope = self._make_scope(ScheduledStep, STEP, name, samples, tokens=tokens)
        scope.entered = False
        return scope

    def _scope(self, kind: int, name: str, samples: int = 0, type_text: str = "", tokens: int = 0) -> Scope:
        return self._make_scope(Scope, kind, name, samples, type_text, tokens)

    def _make_scope(
        self, make: type[ScopeT], kind: int, name: str, samples: int, type_text: str = "", tokens: int = 0
    ) -> ScopeT:
        # The core also takes the number of an interned name, so a number here would be taken for another name.
        name = _arguments.text(f"the name of {KIND_NAMES[kind]}", name)
        number = _core.intern(_arguments.text("a type", type_text)) if type_text != "" else 0
        scope = make(kind, name, number, _arguments.whole("samples", samples, _MAX_COUNT))
        scope.tokens = _arguments.whole("tokens", tokens, _MAX_COUNT)
        scope._session = self
        scope._type = type_text
        frameworks.update()
        found_steps.use_marked() if kind == STEP else found_steps.sweep()
        return scope

    # ---- marks of the program ----

    def watch(self, model: Any, name: str | None = None) -> Watch:
        """Make layers of a model's modules, with spans of forward, backward, recompute and optimizer steps.

        Weights and results are unchanged; all hooks are removed when the session stops.

        Parameters
        ----------
        model : torch.nn.Module
            The model; its submodules become layers under their own names ("blocks.0.attn").
        name : str, optional
            Name of the model and prefix of its layers. Without it the model has the name of its class, and the layers
            of the first model have no prefix.

        Returns
        -------
        joulemap.torch.Watch
            A handle whose `remove()` ends the watch early.

        Raises
        ------
        RuntimeError
            If the session is not running.
        ImportError
            Without PyTorch 2.1 or newer.
        TypeError
            If `model` is no module, or `name` no text.
        """
        if not self._running:
            raise RuntimeError("watch() needs a running Session: call it inside `with`")
        try:
            from joulemap.torch import watch
        except ImportError as error:
            raise ImportError("watching a model needs PyTorch 2.1 or newer: pip install torch") from error
        frameworks.update()
        handle = watch(model, name, find_steps=self._options.find_steps)
        self._watches.append(handle)
        return handle

    def unwatch(self) -> None:
        """Remove the hooks of all models; `stop` calls it."""
        while self._watches:
            self._watches.pop().remove()

    def phase(self, name: str) -> Scope:
        """Mark a part of the program: "train", "validate".

        Parameters
        ----------
        name : str
            Name of its row; phases of one name share a row.

        Returns
        -------
        Scope
            For `with`, as a decorator, or through `begin` and `end`.

        Raises
        ------
        TypeError
            If `name` is no text.
        """
        return self._scope(PHASE, name)

    def epoch(self, name: str = "epoch") -> Scope:
        """Mark one pass over the data. `report("span")` shows each epoch; other reports add them up.

        Parameters
        ----------
        name : str
            Its name in `report("span")`.

        Returns
        -------
        Scope
            For `with`, as a decorator, or through `begin` and `end`.

        Raises
        ------
        TypeError
            If `name` is no text.
        """
        return self._scope(EPOCH, name)

    def step(
        self, samples: int = 0, name: str = "step", *, tokens: int = 0, requests: serving.Requests | None = None
    ) -> Scope:
        """Mark one step.

        In a session with a schedule or a budget this ends the previous step and begins the next one at once, like
        `step` of torch.profiler. `run.step()` at the end of each step is enough; a `with` block ends a step earlier.
        With a schedule, step 0 begins with the session. Such a step cannot be a decorator (TypeError).

        Parameters
        ----------
        samples : int
            Samples of its batch, 0 if unknown: `len(x)` of an input x (`len(batch)` of a pair is 2). Rows of phases and
            steps add them up.
        name : str
            Its name in `report("span")`; other reports add up all steps.
        tokens : int
            Tokens of its batch, 0 if unknown. If they are known only at the end, as in a generation:
            `with run.step() as step: ...; step.tokens = n`.
        requests : mapping or iterable of Request, optional
            The requests of a server in this step, with the tokens of each: `{a: 512, b: 1}`. They share the step's
            joules by their tokens; if tokens are missing (None, or no mapping), equally. A pair of tokens is (prefill,
            decode); a single count takes the rest of the prompt first. This applies to the next step of this thread.
            Without `tokens` the step has the sum of the requests' tokens.

        Returns
        -------
        Scope
            For `with`, as a decorator, or through `begin` and `end`.

        Raises
        ------
        TypeError, ValueError
            If an argument is wrong.
        """
        request_tokens = serving.mark_batch(requests)
        tokens = tokens or request_tokens
        if self._stepper is None or not self._running or self._stepper.is_inside:
            return self._scope(STEP, name, samples, tokens=tokens)
        return self._stepper.next(self._scheduled_step(samples, name, tokens))

    def window(self, name: str, *, type: str = "") -> Scope:
        """Mark any part of the program to measure.

        Parameters
        ----------
        name : str
            Its name in the rows.
        type : str
            Type of its work. Where no kernels are traced, windows of one type are assumed to draw the same power.

        Returns
        -------
        Scope
            For `with`, as a decorator, or through `begin` and `end`; `energy_j` has its joules.

        Raises
        ------
        TypeError
            If `name` or `type` is no text.
        """
        return self._scope(WINDOW, name, type_text=type)

    def mark(self, name: str, **meta: Any) -> None:
        """Record a named instant.

        Parameters
        ----------
        name : str
            Its name.
        **meta
            Values for JSON, also scalars of NumPy and PyTorch. NaN and infinities become null.

        Raises
        ------
        TypeError, ValueError
            If `name` is no text, or JSON cannot hold a value.
        """
        _arguments.text("the name of a mark", name)
        try:
            values = _json(meta) if meta else None
        except (TypeError, ValueError) as error:
            raise type(error)(f"a value of the mark {name!r} is nothing that JSON can hold: {error}") from None
        _core.mark(name, values)
        if self._run is None or not self._run.attached:
            self._warn_unless_running(f"a mark {name!r}")

    # ---- results ----

    def flush(self, timeout_s: float = FLUSH_TIMEOUT_S) -> bool:
        """Wait until the recording is complete up to this call, with its readings.

        Parameters
        ----------
        timeout_s : float
            Maximum time to wait, seconds.

        Returns
        -------
        bool
            False if that took longer than `timeout_s`.

        Raises
        ------
        TypeError
            If `timeout_s` is no number of seconds.
        RuntimeError
            If the session has not started.
        """
        if not isinstance(timeout_s, int | float) or math.isnan(timeout_s):
            raise TypeError(f"timeout_s is a number of seconds, not {timeout_s!r}")
        called_ns = time.monotonic_ns()
        done = self._started().flush(int(1000 * min(max(0.0, timeout_s), _MAX_TIMEOUT_S)))
        if done:
            self._complete_ns = called_ns
        return done

    def _note(self, key: str, text: str) -> None:
        """Write a value into the recording's table `meta`; does nothing in a run of `joulemap record`."""
        self._started().note(key, text)

    def _known_ns(self) -> int:
        """Return the time up to which the recording is complete, so that energies need no waiting."""
        self._complete_ns = max(self._complete_ns, self._started().complete_ns())
        return self._complete_ns

    def _report_source(self, until_ns: int) -> _core.Run:
        run = self._started()
        for watch in self._watches:
            watch.look()
        if 0 < until_ns <= self._complete_ns:
            return run
        if not self.flush():  # also after the end: a recorder above this process may lag
            warnings.warn(
                "the newest readings are not in the recording yet: the report ends before them",
                RuntimeWarning,
                stacklevel=3,
            )
        return run


class MeasuringSession(Session):
    """The session of a tool that needs figures: in a dormant process it records, and does not wait."""

    _may_wait = False


class FoundSession(Session):
    """The session of a program that has none, under `joulemap run`: one of the program's own takes its place."""


def joined_session() -> Session | None:
    """Return the session of this process in the run of a recorder above it; None without one.

    A program that marks nothing gets a FoundSession. Raises Error if it cannot be recorded.
    """
    session = current_session()
    if session is None:
        session = FoundSession().start()
        if not session.attached:  # the recorder has ended: this process must not begin a run of its own
            session.stop()
    return session if session.running and session.attached else None


@contextmanager
def energy_session() -> Iterator[Session]:
    """Yield the open session, else a temporary one that only reads GPUs."""
    session = current_session()
    if session is not None:
        yield session
        return
    with MeasuringSession(kernels=False, cpu=False, counters=False) as own:
        yield own


class _Current:
    """The one session of this process."""

    def __init__(self) -> None:
        self.lock = Lock()  # reentrant: a signal handler may stop a session that is just starting
        self.session: Session | None = None


_current = _Current()


def current_session() -> Session | None:
    """Return the open session of this process.

    Returns
    -------
    Session or None
        The session, or None if none is open.
    """
    session = _current.session
    return session if session is not None and session._owner == os.getpid() else None
