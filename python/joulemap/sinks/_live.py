"""Live figures of a run: joules per step and watts per GPU, from the latest readings."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from joulemap import _arguments

if TYPE_CHECKING:
    import torch

    from joulemap._session import Session


class Count(NamedTuple):
    """Counts at a time.

    Attributes
    ----------
    t_ns : int
        CLOCK_MONOTONIC, nanoseconds.
    steps, samples, tokens : int
        Numbers that have ended since the beginning; unknown samples and tokens do not count.
    at_step : bool
        Whether a step began or ended at this time: between two such times there are only whole steps.
    """

    t_ns: int
    steps: int = 0
    samples: int = 0
    tokens: int = 0
    at_step: bool = False


class Live:
    """Converts counts, in order of time, to named figures. Unknown figures are left out.

    Parameters
    ----------
    session : Session
        The run.
    gpu : int, str or torch.device, optional
        One GPU; without it all boards.
    """

    def __init__(self, session: Session, gpu: int | str | torch.device | None) -> None:
        self._session = session
        self._gpu = gpu
        self._last = self._last_step = Count(session._began_ns)
        self._total_j = 0.0  # up to `_last`
        self._last_step_j = 0.0  # up to `_last_step`
        self._boards: dict[str, int | str | torch.device | None] = {}  # by name; None is the CPU

    def figures(self, now: Count) -> dict[str, float]:
        """Return watts since the last count, joules of the run, and joules per step, sample and token since then.

        If a board's joules are not known, the interval is merged into the next one.

        Raises
        ------
        Error
            If the recording cannot be read.
        """
        if not self._boards:
            self._boards = self._find_boards(now.t_ns)
        seconds = 1e-9 * (now.t_ns - self._last.t_ns)
        measured = {name: self._energy_j(gpu, now) for name, gpu in self._boards.items()}
        known = {name: energy_j for name, energy_j in measured.items() if energy_j is not None}
        values = {f"power/{name}_w": energy_j / seconds for name, energy_j in known.items() if seconds > 0}
        if not known or len(known) < len(measured):
            return values
        if len(known) > 1 and seconds > 0:
            values["power/total_w"] = sum(known.values()) / seconds
        self._total_j += sum(known.values())
        values["energy/total_j"] = self._total_j
        self._last = now
        if now.at_step:
            values.update(self._per_unit(now))
            self._last_step, self._last_step_j = now, self._total_j
        return values

    def _per_unit(self, now: Count) -> dict[str, float]:
        """Return joules per step, sample and token since the last step."""
        if not self._last_step.at_step:
            return {}
        counts = {
            "step": now.steps - self._last_step.steps,
            "sample": now.samples - self._last_step.samples,
            "token": now.tokens - self._last_step.tokens,
        }
        spent_j = self._total_j - self._last_step_j
        return {f"energy/j_per_{unit}": spent_j / count for unit, count in counts.items() if count > 0}

    def _energy_j(self, gpu: int | str | torch.device | None, now: Count) -> float | None:
        return self._session.energy(self._last.t_ns, now.t_ns, gpu=gpu, cpu=gpu is None).energy_j

    def _find_boards(self, t_ns: int) -> dict[str, int | str | torch.device | None]:
        if self._gpu is not None:
            named = _arguments.gpu("gpu", self._gpu)
            return {named.uuid or f"{'cuda' if named.is_cuda else 'gpu'}{named.number}": self._gpu}
        series = self._session.readings(t_ns, t_ns).series
        usable = [s for s in series if s.quantity in ("power", "energy") and not s.missing]
        boards: dict[str, int | str | torch.device | None] = {
            f"gpu{s.gpu}": s.gpu for s in usable if s.kind == "gpu" and s.gpu is not None
        }
        if any(s.kind == "cpu" for s in usable):
            boards["cpu"] = None
        return boards
