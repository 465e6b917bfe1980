"""Schedules of traced steps, with the names of torch.profiler."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

from joulemap import _arguments, _core

if TYPE_CHECKING:
    from joulemap._scope import ScheduledStep
    from joulemap._session import Session


class Action(Enum):
    """What to do in a step, with the names of torch.profiler.ProfilerAction."""

    NONE = "none"
    """Do not trace the step."""
    WARMUP = "warmup"
    """Trace the step, and leave it out of reports."""
    RECORD = "record"
    """Trace and report the step."""
    RECORD_AND_SAVE = "record_and_save"
    """Trace and report the step; a window ends with it."""


def schedule(*, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0) -> Callable[[int], Action]:
    """Return a schedule of traced steps for `Session`, like `torch.profiler.schedule`.

    Each cycle has wait + warmup + active steps. The `active` steps are reported; they form a window. In `wait` steps
    only phases and epochs are recorded. Sensors are read all the time.

    Parameters
    ----------
    wait : int
        Untraced steps at the begin of a cycle.
    warmup : int
        Steps that are traced and not reported. Without one, kernels that were launched before the window and run in it
        are unknown.
    active : int
        Steps that are traced and reported; 1 or more.
    repeat : int
        Number of cycles; 0, as in torch.profiler: no limit.
    skip_first : int
        Steps before the first cycle.

    Returns
    -------
    callable
        Takes the number of a step, from 0, and returns its `Action`.

    Raises
    ------
    TypeError, ValueError
        If an argument is no whole number from 0, or `active` is 0.
    """
    given = {"wait": wait, "warmup": warmup, "active": active, "repeat": repeat, "skip_first": skip_first}
    wait, warmup, active, repeat, skip_first = (_arguments.whole(name, value) for name, value in given.items())
    if active == 0:
        raise ValueError("active is a whole number from 1, not 0")
    if warmup == 0:
        warnings.warn(
            "a schedule with warmup=0 does not know what was launched before a window and runs in it: use warmup=1",
            UserWarning,
            stacklevel=2,
        )
    cycle = wait + warmup + active

    def action_of(step: int) -> Action:
        cycles, position = divmod(step - skip_first, cycle)
        if step < skip_first or (repeat > 0 and cycles >= repeat) or position < wait:
            return Action.NONE
        if position < wait + warmup:
            return Action.WARMUP
        return Action.RECORD_AND_SAVE if position == cycle - 1 else Action.RECORD

    return action_of


_TRACING = {
    "NONE": _core.TRACING["off"],
    "WARMUP": _core.TRACING["warm"],
    "RECORD": _core.TRACING["on"],
    "RECORD_AND_SAVE": _core.TRACING["on"],
}


class TracingCost(NamedTuple):
    """The cost of tracing in a session with a budget.

    Attributes
    ----------
    share : float
        Time that tracing has added, as a share of the time since the session began (0.01 is 1 %).
    steps : int
        Number of steps that have begun.
    traced_steps : int
        Number of these that were traced and are in reports.
    """

    share: float
    steps: int
    traced_steps: int


class Stepper:
    """Consecutive steps: each call of `next` ends a step and begins the next one, as in torch.profiler."""

    def __init__(self) -> None:
        self._scope: ScheduledStep | None = None
        self.window_ns: tuple[int, int] | None = None

    @property
    def is_inside(self) -> bool:
        """Whether the open step is a `with` block; steps inside of it are part of it."""
        return self._scope is not None and self._scope.entered

    def next(self, scope: ScheduledStep) -> ScheduledStep:
        """End the open step and begin `scope`."""
        self._end_scope()
        self._advance()
        self._scope = scope.begin()
        return self._scope

    def _advance(self) -> None:
        """Decide about the step that begins; subclasses override it."""

    def finish(self) -> None:
        """End the last step."""
        self._end_scope()

    def _end_scope(self) -> None:
        if self._scope is not None:
            self._scope.end()
            self._scope = None


class ScheduleStepper(Stepper):
    """Follows a schedule. Step 0 begins with the session."""

    def __init__(
        self,
        session: Session,
        run: _core.Run,
        action_of: Callable[[int], Any],
        on_window_ready: Callable[[Session], object] | None,
    ) -> None:
        super().__init__()
        self._session = session
        self._run = run
        self._action_of = action_of
        self._on_window_ready = on_window_ready
        self._number = 0
        self._action = "NONE"
        self._began_ns = 0  # of the open window, or 0

    def start(self, scope: ScheduledStep) -> None:
        """Begin step 0. It has a span only if it is reported: otherwise phases would be inside of a useless step."""
        self._act(self._action_of(0))
        if self._began_ns != 0:
            self._scope = scope.begin()

    def _advance(self) -> None:
        self._number += 1
        self._act(self._action_of(self._number))

    def finish(self) -> None:
        """End the last step and the open window."""
        self._end_scope()
        self._close_window()
        self._run.trace(_TRACING["NONE"])

    def _act(self, action: Any) -> None:
        before, now = self._action, str(getattr(action, "name", action))
        if now not in _TRACING:
            raise ValueError(f"the schedule gave {action!r} for step {self._number}: use one of {', '.join(_TRACING)}")
        records = _TRACING[now] == _TRACING["RECORD"]
        if before == "RECORD_AND_SAVE" or not records:
            self._close_window()
        self._run.trace(_TRACING[now])
        if records and self._began_ns == 0:
            self._began_ns = time.monotonic_ns()
        self._action = now

    def _close_window(self) -> None:
        if self._began_ns == 0:
            return
        self._run.trace(_TRACING["WARMUP"])
        self.window_ns = (self._began_ns, time.monotonic_ns())
        self._began_ns = 0
        if self._on_window_ready is not None:
            self._on_window_ready(self._session)
