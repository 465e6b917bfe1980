"""A training as callbacks of frameworks report it: phases, epochs and steps, and joules for the framework's log."""

from __future__ import annotations

import multiprocessing
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.util import Finalize
from typing import TYPE_CHECKING, Any

from joulemap import _arguments
from joulemap._core import Error
from joulemap._found_steps import MAX_COUNT, found_steps
from joulemap._intervals import Ledger, Part, Steps
from joulemap._scope import Scope
from joulemap._session import Session, current_session

if TYPE_CHECKING:
    import torch

    from joulemap.torch import Watch

TRAIN, VALIDATE, TEST, PREDICT, SANITY_CHECK = "train", "validate", "test", "predict", "sanity check"
"""Names of phases."""


class Training:
    """Marks the phases, epochs and steps of a training in a session.

    Its methods may fail, so hooks of a framework are `harmless`. Phases nest. The time belongs to the innermost one
    alone: the outer ones pause meanwhile.

    Attributes
    ----------
    session : Session or None
        The session of the last training; None before, and in processes that measure nothing.
    logs : bool
        Whether this process provides figures for the framework's log.
    broken : bool
        Whether a hook has failed; then nothing is measured any more.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None,
        session: Session | None,
        overwrite: bool,
        gpu: int | str | torch.device | None,
        log: bool,
    ) -> None:
        if session is not None and not isinstance(session, Session):
            raise TypeError(f"session is a joulemap.Session, not {session!r} ({type(session).__name__})")
        if session is not None and path is not None:
            raise ValueError("path and session exclude each other: give the path to the Session")
        if gpu is not None:
            _arguments.gpu("gpu", gpu)
        self._path = None if path is None else _arguments.path("path", path)
        self._given = session
        self._overwrite = _arguments.flag("overwrite", overwrite)
        self._gpu = gpu
        self._log = _arguments.flag("log", log)
        self._reset()

    def _reset(self) -> None:
        self.session: Session | None = None
        self.logs = False
        self.broken = False
        self._own: Session | None = None
        self._watches: list[Watch] = []
        self._loaders: Any = None
        self._phases: list[Part] = []
        self._epoch: Part | None = None
        self._step: Scope | None = None
        self._since_ns = 0  # end of the step before, or when the phase went on
        self._ledger = Ledger()
        self._is_alone = True
        self._waiting = [0, 0]  # samples and tokens of batches that were fetched for the step
        self._found: tuple[int, int] | None = None  # samples and tokens of the open found step

    def __getstate__(self) -> dict[str, Any]:
        """Return the options only: a process that a strategy spawns begins anew with them."""
        return {name: self.__dict__[name] for name in ("_path", "_overwrite", "_gpu", "_log")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._given = None
        self._reset()

    # ---- life ----

    @property
    def depth(self) -> int:
        """Number of open phases."""
        return len(self._phases)

    def _open(self, is_first: bool) -> bool:
        """Make sure that a session runs; False: this process measures nothing."""
        if self.session is None or not self.session.running:
            session = self._given or current_session()
            if session is None:
                if not is_first and not os.environ.get("JOULEMAP_RUN"):
                    return False  # only the first process measures, unless `joulemap record` records all of them
                session = Session(self._path if is_first else None, overwrite=self._overwrite)
            elif session is not self._given and self._path is not None:
                warnings.warn(f"a Session is open already: {self._path!r} is not written", RuntimeWarning, stacklevel=2)
            if not session.running:
                session.start()
                self._own = session
                if multiprocessing.parent_process() is not None:  # a child of multiprocessing calls no atexit
                    Finalize(None, self.close, exitpriority=1)
            self.session = session
        self.logs = self._log and is_first
        return True

    def enter(
        self,
        phase: str,
        models: Iterable[tuple[Any, str | None]] = (),
        *,
        rank: int = 0,
        processes: int = 1,
        listen: Callable[[int, int], None] | None = None,
        finds_steps: bool = False,
    ) -> None:
        """Begin a phase inside of the open ones.

        Parameters
        ----------
        phase : str
            Its name.
        models : iterable of (model, name or None)
            Models to watch until the outermost phase ends, if they are PyTorch modules and not watched yet.
        rank, processes : int
            Rank of this process, and number of processes that train together. Rank 0 logs and writes the file.
        listen : callable, optional
            Called with the samples and tokens of each batch of a data loader.
        finds_steps : bool
            The framework has no hooks for steps: the session finds them.
        """
        if not self._phases:
            self._is_alone = processes == 1
            if not self._begin(models, rank == 0):
                return
            if not finds_steps:
                found_steps.use_marked()
            if listen is not None:
                self._listen(listen)
        session = self._running()
        self._pause()
        part = Part(phase, session.phase, self._energy_j if self.logs else None)
        self._phases.append(part)
        self._since_ns = part.begin()
        self._waiting = [0, 0]

    def _begin(self, models: Iterable[tuple[Any, str | None]], is_first: bool) -> bool:
        if _active.training is not None and _active.training.depth > 0:
            raise RuntimeError("another callback of joulemap measures this training already: use one")
        if not self._open(is_first):
            return False
        _active.training = self
        self._ledger = Ledger()  # drops steps of an earlier training
        for model, name in models:
            self._watch_model(model, name)
        return True

    def _listen(self, listen: Callable[[int, int], None]) -> None:
        from joulemap._data_loaders import Loaders

        self._loaders = Loaders()
        found_steps.listener = listen

    def _running(self) -> Session:
        if self.session is None or not self.session.running:
            raise RuntimeError("the Session of this training has been stopped")
        return self.session

    def _watch_model(self, model: Any, name: str | None) -> None:
        torch = sys.modules.get("torch")
        if torch is None or not isinstance(model, torch.nn.Module):
            return
        from joulemap.torch import is_watched

        if isinstance(model, torch.nn.parallel.DistributedDataParallel):
            model = model.module  # else all layers would begin with "module"
        if not is_watched(model):
            self._watches.append(self._running().watch(model, name))

    def _pause(self, error: type[BaseException] | None = None) -> None:
        """Pause the innermost phase: end its step, pause its epoch."""
        self.end_step(error=error)
        self._note_found(None)
        if self._epoch is not None:
            self._epoch.end(error)
        if self._phases:
            self._phases[-1].end(error)

    def leave(self, phase: str) -> Part | None:
        """End the innermost phase if it has this name, and return it; the outer one resumes."""
        if not self._phases or self._phases[-1].name != phase:
            return None
        ended = self._phases[-1]
        self.unwind(len(self._phases) - 1)
        return ended

    def unwind(self, depth: int, error: type[BaseException] | None = None) -> None:
        """End phases until `depth` are open; `error`: the type of an exception that ends them."""
        if len(self._phases) <= depth:
            return
        while len(self._phases) > depth:
            self._pause(error)
            ended = self._phases.pop()
            if ended.name == TRAIN:
                self._epoch = None
        self._waiting = [0, 0]
        if self._phases:
            self._since_ns = self._phases[-1].begin()
        else:
            self._finish()

    def _finish(self) -> None:
        """Unwatch models and loaders; the session stays open, for the next training and for reports."""
        watches, self._watches = self._watches, []
        loaders, self._loaders = self._loaders, None
        if _active.training is self:
            _active.training = None
        if loaders is not None:
            found_steps.listener = None
            loaders.remove()
        for watch in watches:
            watch.remove()
            if self.session is not None and watch in self.session._watches:  # a stopped session has none
                self.session._watches.remove(watch)

    def close(self) -> None:
        """End all phases, and the session if it was opened here."""
        self.unwind(0)
        own, self._own = self._own, None
        if own is not None:
            own.stop()

    def fail(self, error: Exception) -> None:
        """Stop measuring, with a warning; the training goes on."""
        self.broken = True
        with suppress(Exception):
            self.unwind(0)
        with suppress(Exception):
            self._finish()
        self._phases.clear()
        warnings.warn(
            f"joulemap measures this training no longer: {type(error).__name__}: {error}", RuntimeWarning, stacklevel=3
        )

    # ---- epochs and steps ----

    def begin_epoch(self) -> None:
        """Begin an epoch."""
        if not self._phases:
            return
        self.end_epoch()
        self._epoch = Part("epoch", self._running().epoch, self._energy_j if self.logs else None)
        self._epoch.begin()
        self._waiting = [0, 0]

    def end_epoch(self) -> Part | None:
        """End the open epoch and return it; None if there is none."""
        epoch, self._epoch = self._epoch, None
        if epoch is not None:
            self.end_step()
            epoch.end()
        return epoch

    def begin_step(self, samples: int = 0, tokens: int = 0) -> None:
        """Begin a step; a paused epoch resumes."""
        if not self._phases:
            return
        self.end_step()
        if self._epoch is not None and self._phases[-1].name == TRAIN:
            self._epoch.begin()
        self._step = self._running().step(min(samples, MAX_COUNT), tokens=min(tokens, MAX_COUNT))
        self._step.__enter__()

    @property
    def has_step(self) -> bool:
        """Whether a step is open."""
        return self._step is not None

    def count(self, samples: int, tokens: int) -> None:
        """Count a batch for the open step, or for the next one."""
        self._waiting[0] += samples
        self._waiting[1] += tokens

    def end_step(self, *, error: type[BaseException] | None = None) -> None:
        """End the step, with its counted batches."""
        step, self._step = self._step, None
        if step is None:
            return
        samples, tokens = self._waiting
        self._waiting = [0, 0]
        step.samples = min(step.samples + samples, MAX_COUNT)
        step.tokens = min(step.tokens + tokens, MAX_COUNT)
        step.__exit__(error, None, None)
        self._note(step.end_ns or 0, step.samples, step.tokens)

    def _note(self, end_ns: int, samples: int, tokens: int) -> None:
        """Add a step for `step_figures`."""
        if self.logs and self._phases[-1].name == TRAIN:
            self._ledger.add(Steps(self._since_ns, end_ns, 1, samples, tokens))
        self._since_ns = end_ns

    def find(self, samples: int, tokens: int) -> None:
        """Note a batch that the session has found: it is a step until the next one."""
        self._note_found((samples, tokens))

    def _note_found(self, batch: tuple[int, int] | None) -> None:
        before, self._found = self._found, batch
        if before is not None:
            self._note(time.monotonic_ns(), *before)

    # ---- joules for the log ----

    def _energy_j(self, from_ns: int, to_ns: int) -> float | None:
        """Return the joules of an interval; None if they cannot be measured, with one warning."""
        if not self.logs or self.session is None:
            return None
        try:
            return self.session.energy(from_ns, to_ns, gpu=self._gpu).energy_j
        except (Error, RuntimeError) as error:
            self._stop_logging(error)
            return None

    def _stop_logging(self, error: Exception) -> None:
        self.logs = self._log = False
        warnings.warn(f"joulemap has no joules for the log: {error}", RuntimeWarning, stacklevel=4)

    def energy_j(self, part: Part | None) -> float | None:
        """Return the joules of a phase or an epoch; None if they are not known.

        This waits for the sensors' next readings, some 0.1 s. The wait counts for no phase.
        """
        if part is None or not self.logs:
            return None
        self._pause()
        try:
            return part.energy_j()
        finally:
            if self._phases:
                self._since_ns = self._phases[-1].begin()

    @property
    def phase(self) -> Part | None:
        """The innermost phase."""
        return self._phases[-1] if self._phases else None

    def step_figures(self) -> dict[str, float]:
        """Return figures of the steps since the last call; an empty dict if there are none.

        Only steps whose readings are recorded count, up to some 1.5 s ago, so this does not wait. Time between steps
        counts, time of other phases does not.
        """
        if not self.logs or self.session is None:
            return {}
        try:
            intervals = self._ledger.take(self.session._known_ns())
        except Error as error:
            self._stop_logging(error)
            return {}
        joules = [self._energy_j(steps.start_ns, steps.end_ns) for steps in intervals]
        if not joules or any(value is None for value in joules):
            return {}
        total_j = sum(value for value in joules if value is not None)
        time_s = 1e-9 * sum(steps.end_ns - steps.start_ns for steps in intervals)
        figures = {"j_per_step": total_j / sum(one.steps for one in intervals), "power_w": total_j / time_s}
        for name, place in (("j_per_sample", 3), ("j_per_token", 4)):
            # The joules include all GPUs, the samples only this process.
            if self._is_alone and all(steps[place] > 0 for steps in intervals):
                figures[name] = total_j / sum(steps[place] for steps in intervals)
        return figures


class _Active:
    """The measured training of this process; there is only one."""

    training: Training | None = None


_active = _Active()


@contextmanager
def entry_point() -> Iterator[None]:
    """Wrap a call of a framework (`fit`): at its end close what its callbacks opened, also after an exception."""
    depth = 0 if _active.training is None else _active.training.depth
    error: type[BaseException] | None = None
    try:
        yield
    except BaseException as raised:
        error = type(raised)
        raise
    finally:
        training = _active.training
        if training is not None:
            try:
                training.unwind(depth, error)
            except Exception as failed:
                training.fail(failed)
