"""Session: a run of the recorder in this process, or a seat in the one above it."""

from __future__ import annotations

import atexit
import json
import math
import os
import time
import warnings
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from joulemap import _arguments, _core, _lost_caps
from joulemap import _serving as serving
from joulemap._asked import Asked
from joulemap._found import found
from joulemap._locks import Lock
from joulemap._names import names
from joulemap._nvtx import Injection
from joulemap._reporting import Reporting
from joulemap._schedule import ScheduleStepper, Stepper, TracingCost
from joulemap._scope import EPOCH, PHASE, STEP, WINDOW, WORDS, ScheduledStep, Scope
from joulemap._threads import unwind

if TYPE_CHECKING:
    from typing_extensions import Self

    from joulemap.torch import Watch

ScopeT = TypeVar("ScopeT", bound=Scope)

FLUSH_TIMEOUT_S = 10.0
_MAX_TIMEOUT_S = 1e6
_MAX_COUNT = 2**32 - 1


def _scalar(value: Any) -> Any:
    """Return what a scalar of NumPy, PyTorch or JAX is in Python."""
    try:
        return value.item()
    except (AttributeError, TypeError, ValueError, RuntimeError):  # none, or an array of several
        raise TypeError(f"{value!r} ({type(value).__name__})") from None


def _json(values: dict[str, Any]) -> str:
    text = json.dumps(values, default=_scalar)
    if "NaN" not in text and "Infinity" not in text:
        return text
    return json.dumps(json.loads(text, parse_constant=lambda word: None))


class Session(Reporting):
    """Record boards, spans and kernels of this process, in memory or into a file.

    A process that `joulemap record` started joins that run instead: no board is read twice, and the
    recording is the recorder's. One session can be open at a time in a process.

    A process that `joulemap dormant` started waits: what is watched is recorded while `joulemap attach` is there, and
    there is nothing to report here.

    Parameters
    ----------
    path : path, optional
        Recording file, written as the run goes; in memory without it.
    kernels : "auto", True or False
        Trace kernels of this process through CUPTI. "auto" does where CUDA and CUPTI are there and no other profiler of
        this process uses them; else the spans alone are the timeline, and a note of the report says why. True fails
        there. A simulated board runs no kernels: with "auto" none are looked for. Under `joulemap record` it is the
        recorder's.
    sim : str, optional
        Profile of the simulated board ("h200"); without it JOULEMAP_SIM decides, else the real boards.
    schedule : callable, optional
        Trace only at times: what `joulemap.schedule` or `torch.profiler.schedule` gives. `step` then moves it on, and
        reports are of the windows. Sensors are read all of the time: rows by board have the energy of the whole run.
    budget : float, optional
        By what share of its time tracing may slow the program down (0.01: 1 %): it decides which steps are traced. A
        few now and then are, and what they take longer is measured. The others are recorded without what is in them:
        reports extrapolate from traced steps of their name, phase and counts. It needs steps, marked or found: without
        any, all is traced. With it `step` is as with a schedule. Under `joulemap record --budget` it is the recorder's,
        unless it is given here.
    on_window_ready : callable, optional
        Is called with the session at the end of each window; `window_ns` says when that was.
    overwrite : bool
        Replace an existing file.
    cpu : bool
        Also read the CPU's energy (RAPL) where it can be read.
    counters : bool or float, optional
        Sample the GPU's hardware counters, that many seconds of each minute: 60 is always, True two. By default
        two, where kernels are traced and this user may read them. A process of its own does it.
    keep_s : float, optional
        A run of days: condense what is older than that many seconds. Of kernels and layers one traced
        step a minute stays, which stands for the others, of power the mean over each second; totals are exact.
    max_bytes : int, optional
        Condense more, and sooner, so that the recording stays below that size, more than 1 MB.
    steps : "auto" or False
        Find steps where the program marks none with `step`: while a model is watched, batches of data loaders, and the
        forward passes of Hugging Face's `generate`, with their samples and tokens. False: only marked steps count.

    Raises
    ------
    TypeError, ValueError
        If an argument is none of these.
    NoDeviceError
        On start, if there is no board at all and none is simulated.
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

    _may_wait = True  # for a recorder that attaches, in a program that was started dormant

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
        self._asked = Asked.checked(
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
        self._at_stop: list[Callable[[], None]] = []  # called when it has stopped; they fail by themselves
        self._began_ns = 0
        self._complete_ns = 0  # what happened before is in the recording

    # ---- life ----

    def start(self) -> Self:
        """Start the run, or join the one of `joulemap record`. `with` does it by itself.

        Returns
        -------
        Session
            This one.

        Raises
        ------
        RuntimeError
            If a session is open in this process already, or this one has run.
        NoDeviceError
            If there is no board at all and none is simulated.
        Error
            If the file exists or cannot be written, or kernels cannot be traced and `kernels` is True.
        """
        with _current.lock:
            if _current.session is not None and _current.session._owner == os.getpid():
                raise RuntimeError(
                    "a Session is open already in this process: stop it first, or use joulemap.current_session()"
                )
            if self._run is not None:
                raise RuntimeError("this Session has run: make a new one for the next run")
            _lost_caps.put_back(stacklevel=2)
            self._began_ns = time.monotonic_ns()
            self._run = self._asked.start(may_wait=self._may_wait)
            self._injection = Injection(self._run.environment())
            self._owner = os.getpid()
            self._running = True
            found.reset()
            serving.renew()
            _current.session = self
        names.begin(self._asked.find_steps)
        atexit.register(self._stop_at_exit)
        if self._run.dormant:
            if self._asked.path is not None:
                warnings.warn(
                    "this process was started dormant: it writes no recording, `joulemap attach` does",
                    RuntimeWarning,
                    stacklevel=2,
                )
        elif self._run.attached and (self._asked.path is not None or self._asked.sim is not None):
            warnings.warn(
                "this process is recorded by `joulemap record`: path and sim are those of that run",
                RuntimeWarning,
                stacklevel=2,
            )
        if self._asked.budget > 0:
            self._stepper = Stepper()
        if self._asked.schedule is not None:
            self._stepper = stepper = ScheduleStepper(
                self, self._run, self._asked.schedule, self._asked.on_window_ready
            )
            try:
                stepper.start(self._scheduled_step())
            except BaseException:
                self._stepper = None
                self.stop()
                raise
        return self

    def stop(self) -> None:
        """Unwatch all models, take the last readings, close the file. Reports can still be made.

        A second call does nothing.

        Raises
        ------
        Error
            If the recording could not be written whole.
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
                names.end()
                if self._injection is not None:
                    self._injection.end()
                unwind(KeyboardInterrupt)  # whatever this thread has left open
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
        else:  # the program's own exception is the one to show
            self._stop_at_exit()

    @property
    def running(self) -> bool:
        """True between start and stop."""
        return self._running

    @property
    def attached(self) -> bool:
        """True if the recorder is a parent process (`joulemap record`)."""
        return self._started().attached

    @property
    def dormant(self) -> bool:
        """True if this process was started by `joulemap dormant`: only who attaches to it records."""
        return self._started().dormant

    @property
    def recording_path(self) -> str | None:
        """Where the recording is; None in memory, or if nothing is recorded here."""
        return self._started().path

    @property
    def kernels_missing(self) -> str | None:
        """Why kernels of this process are not traced; None if they are, or need not be."""
        return self._started().kernels_missing

    @property
    def window_ns(self) -> tuple[int, int] | None:
        """Begin and end of the last window of the schedule, CLOCK_MONOTONIC nanoseconds: for `report`."""
        return None if self._stepper is None else self._stepper.window_ns

    @property
    def tracing_cost(self) -> TracingCost | None:
        """What tracing has cost so far in a session with a budget, as it measures itself; None without one."""
        cost = self._started().tracing_cost()
        return None if cost is None else TracingCost(*cost)

    def environment(self) -> dict[str, str]:
        """Return the variables that a child process needs to join this run.

        Returns
        -------
        dict
            Name to value, for `subprocess.run(..., env={**os.environ, **run.environment()})`.

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
        """Warn once before the start, and once after the end."""
        state = "has not started: use it in `with`, or call start()" if self._run is None else "has stopped"
        if self._running or self._warned == state:
            return
        self._warned = state
        warnings.warn(f"{what} is not recorded: this Session {state}", RuntimeWarning, stacklevel=3)

    def __repr__(self) -> str:
        state = "running" if self._running else "not started" if self._run is None else "stopped"
        where = "in memory" if self._asked.path is None else repr(self._asked.path)
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
        # The core also takes the number of a name: 3 would stand for whatever was named third.
        name = _arguments.text(f"the name of {WORDS[kind]}", name)
        number = _core.intern(_arguments.text("a type", type_text)) if type_text != "" else 0
        scope = make(kind, name, number, _arguments.whole("samples", samples, _MAX_COUNT))
        scope.tokens = _arguments.whole("tokens", tokens, _MAX_COUNT)
        scope._session = self
        scope._type = type_text
        names.look()
        found.tell() if kind == STEP else found.sweep()
        return scope

    # ---- what the program says of itself ----

    def watch(self, model: Any, name: str | None = None) -> Watch:
        """Make the modules of a model layers: forward, backward, recompute, and optimizer steps.

        Weights and results are untouched; all hooks go when the session stops.

        Parameters
        ----------
        model : torch.nn.Module
            Its submodules become layers under their own names ("blocks.0.attn").
        name : str, optional
            Name of the model itself and prefix of its layers; without it the class names the model and the
            layers of a first model have no prefix.

        Returns
        -------
        joulemap.torch.Watch
            Its `remove()` ends the watch before the session does.

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
        names.look()
        handle = watch(model, name, find_steps=self._asked.find_steps)
        self._watches.append(handle)
        return handle

    def unwatch(self) -> None:
        """Take the hooks off all models; `stop` does it by itself."""
        while self._watches:
            self._watches.pop().remove()

    def phase(self, name: str) -> Scope:
        """Mark a part of the program: "train", "validate".

        Parameters
        ----------
        name : str
            What its row is called; phases of one name share a row.

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
        """Mark one pass over the data; `report("span")` shows its name, other reports add all epochs up.

        Parameters
        ----------
        name : str
            What `report("span")` calls it.

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

        In a session with a schedule or a budget this ends the step before and begins the next one, as torch.profiler's
        `step` does: `run.step()` at the end of each step will do, and a `with` block ends a step earlier.
        With a schedule, step 0 begins with the session. As it begins at once, it is no decorator (TypeError).

        Parameters
        ----------
        samples : int
            Samples of its batch: `len(x)` of an input x (`len(batch)` of a pair is 2). 0 if unknown. Rows of phases and
            steps add them up.
        name : str
            What `report("span")` calls it; other reports add all steps up.
        tokens : int
            Tokens of its batch, of a language model. 0 if unknown. Where they are known at the end alone, as those of a
            generation: `with run.step() as step: ...; step.tokens = n`.
        requests : mapping or iterable of Request, optional
            Which requests of a server it works on, and how many tokens each is fed in it: `{a: 512, b: 1}`. They share
            its joules by their tokens. Where not all are given (None, or no mapping), they share equally. A pair of
            tokens is (prefill, decode); else the prompt's come first. It holds for the step that begins next in this
            thread. Without `tokens` the step has theirs.

        Returns
        -------
        Scope
            For `with`, as a decorator, or through `begin` and `end`.

        Raises
        ------
        TypeError, ValueError
            If an argument is none of the above.
        """
        told = serving.tell(requests)
        tokens = tokens or told
        if self._stepper is None or not self._running or self._stepper.is_inside:
            return self._scope(STEP, name, samples, tokens=tokens)
        return self._stepper.next(self._scheduled_step(samples, name, tokens))

    def window(self, name: str, *, type: str = "") -> Scope:
        """Mark any snippet of the program; its `report()` gives its joules.

        Parameters
        ----------
        name : str
            What the rows call it.
        type : str
            Its class of work, if it is one: windows of one type are taken to draw the same power where no
            kernels are seen.

        Returns
        -------
        Scope
            For `with`, as a decorator, or through `begin` and `end`; `energy_j` gives its joules.

        Raises
        ------
        TypeError
            If `name` or `type` is no text.
        """
        return self._scope(WINDOW, name, type_text=type)

    def mark(self, name: str, **meta: Any) -> None:
        """Note a named instant.

        Parameters
        ----------
        name : str
            What it is called.
        **meta
            Values that JSON can hold, scalars of NumPy and PyTorch too. NaN and infinities become null.

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

    # ---- what came out ----

    def flush(self, timeout_s: float = FLUSH_TIMEOUT_S) -> bool:
        """Wait until all that has happened, and the readings of it, are in the recording.

        Parameters
        ----------
        timeout_s : float
            How long to wait at most, seconds.

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
        """Write a fact into the recording; in a run of `joulemap record` nothing happens."""
        self._started().note(key, text)

    def _known_ns(self) -> int:
        """Return up to when energies can be had at once: what happened before is in the recording."""
        self._complete_ns = max(self._complete_ns, self._started().complete_ns())
        return self._complete_ns

    def _report_source(self, until_ns: int) -> _core.Run:
        run = self._started()
        for watch in self._watches:
            watch.look()
        if 0 < until_ns <= self._complete_ns:
            return run
        if not self.flush():  # also after the end: a recorder above this process may lag behind
            warnings.warn(
                "the newest readings are not in the recording yet: the report ends before them",
                RuntimeWarning,
                stacklevel=3,
            )
        return run


class MeasuringSession(Session):
    """The session of a tool that is asked for figures: in a dormant process it does not wait for others to record."""

    _may_wait = False


class _Current:
    """The one session of this process."""

    def __init__(self) -> None:
        self.lock = Lock()  # a signal's handler may stop the session that is just starting
        self.session: Session | None = None


_current = _Current()


def current_session() -> Session | None:
    """Return the open session of this process.

    Returns
    -------
    Session or None
        None if there is none.
    """
    session = _current.session
    return session if session is not None and session._owner == os.getpid() else None
