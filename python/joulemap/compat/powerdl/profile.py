"""A profile: a session during a `with` block, and its report."""

from __future__ import annotations

import math
import os
import sys
import time
import warnings
from types import TracebackType
from typing import TYPE_CHECKING, Any

from joulemap._gpu import find_gpu
from joulemap._machine import Board
from joulemap._session import MeasuringSession, Session, current_session
from joulemap.compat.powerdl.export import write_marks, write_samples
from joulemap.compat.powerdl.progress import Progress
from joulemap.compat.powerdl.report import Report
from joulemap.compat.powerdl.samples import Window, curve
from joulemap.compat.powerdl.settings import MemoryGuard, TorchRunConfig

if TYPE_CHECKING:
    from typing_extensions import Self


class Profile:
    """The base of `profile_torch` and `profile_tf`, a context manager.

    It uses the open session of the process, else a session of its own.
    """

    def __init__(self, settings: TorchRunConfig) -> None:
        self.settings = settings
        self._guard = MemoryGuard(settings)
        self._session: Session | None = None
        self._own = False
        self._progress: Progress | None = None
        self._board: Board | None = None
        self._begin_ns = self._end_ns = 0

    def __enter__(self) -> Self:
        if self._session is not None:
            raise RuntimeError("this profile has run: make a new one for the next run")
        self._board = find_gpu(self.settings.device_index)
        session = current_session()
        self._own = session is None
        if session is None:
            session = MeasuringSession(self._guard.path)
            session.start()
        elif self._guard.path is not None:
            warnings.warn(
                "a joulemap Session is open already: where samples are kept is as it says, not as the limits of "
                "memory here do",
                RuntimeWarning,
                stacklevel=2,
            )
        self._session = session
        self._progress = Progress(session, self._guard)
        self._begin_ns = time.monotonic_ns()
        session.mark("session_start")
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        session, progress = self._session, self._progress
        assert session is not None
        assert progress is not None
        progress.pause_train()
        session.mark("session_end")
        self._end_ns = time.monotonic_ns()
        try:
            if self._own:
                session.stop()
            if self._guard.keeps_files and self._guard.path is not None:
                timeline, window = session.timeline(), self._window()
                settings = self.settings
                write_samples(
                    self._guard.beside("samples.csv"), timeline, window, settings.interval_s, settings.collect_util
                )
                if settings.auto_flush_keep_marks:
                    write_marks(self._guard.beside("marks.csv"), timeline, window, progress.losses)
            if self.settings.out_dir is not None:
                self.report().export(self.settings.out_dir)
        except Exception as error:
            if exc_type is None:
                raise
            # The program's own exception matters more.
            warnings.warn(f"powerdl: {error}", RuntimeWarning, stacklevel=2)

    def _window(self) -> Window:
        assert self._board is not None
        return Window(self._begin_ns, self._end_ns or time.monotonic_ns(), self._board.index, os.getpid())

    def progress(self, what: str) -> Progress:
        """Return the progress for a method or callback of this name.

        Raises
        ------
        RuntimeError
            Outside `with`.
        """
        if self._progress is None or self._end_ns != 0:
            raise RuntimeError(f"{what}() needs an open profile: call it inside `with profile_...() as p:`")
        return self._progress

    def mark(self, name: str, **meta: Any) -> None:
        """Record a named instant, with values for JSON."""
        self.progress("mark")
        assert self._session is not None
        self._session.mark(name, **meta)

    def report(self) -> Report:
        """Return the report up to now; after `with` the report of the whole profile.

        Raises
        ------
        RuntimeError
            Before `with`.
        """
        if self._session is None or self._progress is None or self._board is None:
            raise RuntimeError("report() needs a profile that has begun: call it inside `with profile_...() as p:`")
        return Report(self._session, self._window(), self._progress, self.settings, self._board.name)

    def _print(self, text: str) -> None:
        if self.settings.verbose > 0:
            print(f"[powerdl] {text}", file=sys.stdout, flush=True)

    def _inferred(self) -> dict[str, float]:
        """Return the figures of the inference that has just ended; NaN if not measured."""
        progress, session, board = self._progress, self._session, self._board
        assert progress is not None
        assert session is not None
        assert board is not None
        last = progress.inferences[-1]
        time_s = 1e-9 * (last.end_ns - last.start_ns)
        energy_j = session.energy(last.start_ns, last.end_ns, gpu=board.index).energy_j
        joules = math.nan if energy_j is None else energy_j
        per_sample = joules / last.samples if last.samples > 0 else math.nan
        utils = {"gpu_utilisation": math.nan, "memory_utilisation": math.nan}
        if self.settings.collect_util:
            timeline = session.timeline()
            for quantity in utils:
                mean = curve(timeline, quantity, board.index, last.start_ns).mean([(0.0, time_s)])
                utils[quantity] = math.nan if mean is None else mean
        figures = {
            "infer_energy_j": joules,
            "infer_time_s": time_s,
            "infer_avg_power_w": joules / time_s,
            "infer_j_per_sample": per_sample,
            "infer_throughput_img_s": last.samples / time_s,
            "infer_avg_gpu_util": utils["gpu_utilisation"],
            "infer_avg_mem_util": utils["memory_utilisation"],
        }
        self._print(f"inference of {last.samples} samples: {joules:.4g} J in {time_s:.4g} s")
        return figures
