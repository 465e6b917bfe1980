"""The options of a session, checked before anything starts."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, NamedTuple

from joulemap import _arguments, _core


def _kernels(kernels: Any) -> bool | str:
    if not isinstance(kernels, bool) and kernels != "auto":
        raise ValueError(f'kernels is "auto", True or False, not {kernels!r}')
    checked: bool | str = kernels
    return checked


def _is_auto(steps: Any) -> bool:
    if steps is not False and steps != "auto":
        raise ValueError(f'steps is "auto" or False, not {steps!r}')
    return steps is not False


def _callable_or_none(what: str, value: Any) -> Any:
    if value is not None and not callable(value):
        raise TypeError(f"{what} is callable, not {value!r} ({type(value).__name__})")
    return value


def _counters(counters: bool | float | None) -> float:
    """Return seconds per minute as the core takes them: 0 is the run's default, -1 is never."""
    if counters is None:
        return 0.0
    if isinstance(counters, bool):
        return 1.8 if counters else -1.0
    return _arguments.real("counters", counters, 0, 60)


def _seconds(what: str, value: float | None) -> float:
    return 0.0 if value is None else _arguments.real(what, value, 0, 1e9)


def _bytes(what: str, value: int | None) -> int:
    return 0 if value is None else int(_arguments.real(what, value, 1e6, 1e15))


class SessionOptions(NamedTuple):
    """The options of a session as the core takes them; 0 is the default."""

    path: str | None
    sim: str | None
    kernels: bool | str
    find_steps: bool
    schedule: Callable[[int], Any] | None
    on_window_ready: Callable[[Any], object] | None
    budget: float
    overwrite: bool
    cpu: bool
    counters: float
    keep_s: float
    max_bytes: int

    @classmethod
    def checked(cls, **given: Any) -> SessionOptions:
        """Check the arguments of `Session`; ValueError or TypeError names the wrong one."""
        path, sim, budget = (given[name] for name in ("path", "sim", "budget"))
        options = cls(
            path=None if path is None else _arguments.path("path", path),
            sim=None if sim is None else _arguments.text("sim", sim),
            kernels=_kernels(given["kernels"]),
            find_steps=_is_auto(given["steps"]),
            schedule=_callable_or_none("schedule", given["schedule"]),
            on_window_ready=_callable_or_none("on_window_ready", given["on_window_ready"]),
            budget=0.0 if budget is None else _arguments.share("budget", budget),
            overwrite=_arguments.flag("overwrite", given["overwrite"]),
            cpu=_arguments.flag("cpu", given["cpu"]),
            counters=_counters(given["counters"]),
            keep_s=_seconds("keep_s", given["keep_s"]),
            max_bytes=_bytes("max_bytes", given["max_bytes"]),
        )
        if budget is not None and options.schedule is not None:
            raise ValueError("schedule and budget exclude each other: both say which steps are traced")
        if options.on_window_ready is not None and options.schedule is None:
            raise ValueError("on_window_ready needs a schedule: without one there are no windows")
        return options

    def is_simulated(self) -> bool:
        """Return whether the session uses the simulated board."""
        return bool(os.environ.get("JOULEMAP_SIM") if self.sim is None else self.sim)

    def start(self, *, may_wait: bool) -> _core.Run:
        """Start the run, or join that of a recorder above this process."""
        return _core.Run(
            self.path,
            self.sim,
            overwrite=self.overwrite,
            kernels=self.kernels is True or (self.kernels == "auto" and not self.is_simulated()),
            kernels_required=self.kernels is True,
            no_cpu=not self.cpu,
            counters=self.counters,
            ranges=True,
            budget=self.budget,
            may_wait=may_wait,
            keep_s=self.keep_s,
            max_bytes=self.max_bytes,
        )
