"""Which steps are traced, in the words of torch.profiler, and what that costs."""

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
    """What happens in a step; torch.profiler.ProfilerAction's names."""

    NONE = "none"
    """Nothing is traced."""
    WARMUP = "warmup"
    """It is traced, and in no report."""
    RECORD = "record"
    """It is traced and reported."""
    RECORD_AND_SAVE = "record_and_save"
    """The same, and with it a window ends."""


def schedule(*, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0) -> Callable[[int], Action]:
    """Return a schedule for `Session`: which steps are traced, as `torch.profiler.schedule` has it.

    Of each cycle of wait + warmup + active steps the last `active` are reported, a window. While it waits, nothing but
    phases and epochs is recorded. Sensors are read all of the time.

    Parameters
    ----------
    wait : int
        Steps of a cycle without tracing.
    warmup : int
        Steps after those that are traced and left out: without one, what was launched before the window and still runs
        in it is not known.
    active : int
        Steps after those that are reported; 1 or more.
    repeat : int
        How many cycles; 0, as in torch.profiler: as long as the run lasts.
    skip_first : int
        Steps before the first cycle.

    Returns
    -------
    callable
        Takes the number of a step, from 0, and gives its `Action`.

    Raises
    ------
    TypeError, ValueError
        If one is no whole number from 0, or `active` is 0.
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
        round_, at = divmod(step - skip_first, cycle)
        if step < skip_first or (repeat > 0 and round_ >= repeat) or at < wait:
            return Action.NONE
        if at < wait + warmup:
            return Action.WARMUP
        return Action.RECORD_AND_SAVE if at == cycle - 1 else Action.RECORD

    return action_of


_TRACING = {
    "NONE": _core.TRACING["off"],
    "WARMUP": _core.TRACING["warm"],
    "RECORD": _core.TRACING["on"],
    "RECORD_AND_SAVE": _core.TRACING["on"],
}


class TracingCost(NamedTuple):
    """What tracing has cost a program.

    Attributes
    ----------
    share : float
        Of the time since the session began, by which tracing made it longer.
    steps : int
        That have begun.
    traced_steps : int
        Of those, traced and in reports.
    """

    share: float
    steps: int
    traced_steps: int


class Stepper:
    """Steps one after the other: each call of `next` ends one and begins the next, as in torch.profiler."""

    def __init__(self) -> None:
        self._scope: ScheduledStep | None = None
        self.window_ns: tuple[int, int] | None = None

    @property
    def is_inside(self) -> bool:
        """Whether the step that is going on is a `with` block: a step in it is a part of it."""
        return self._scope is not None and self._scope.entered

    def next(self, scope: ScheduledStep) -> ScheduledStep:
        """End a step and begin the one that follows, with its scope."""
        self._end_scope()
        self._follow()
        self._scope = scope.begin()
        return self._scope

    def _follow(self) -> None:
        """Have what is decided of the step that begins."""

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
        self._began_ns = 0  # of the window that is open

    def start(self, scope: ScheduledStep) -> None:
        """Begin step 0. It has a span where it is reported: else phases that begin in it would lie in it for no use."""
        self._act(self._action_of(0))
        if self._began_ns != 0:
            self._scope = scope.begin()

    def _follow(self) -> None:
        self._number += 1
        self._act(self._action_of(self._number))

    def finish(self) -> None:
        """End the last step; a window that is open is over, too."""
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
