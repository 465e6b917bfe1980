"""Figures of a run while it goes on: what each step costs, what each GPU draws, from the readings around alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from joulemap import _arguments

if TYPE_CHECKING:
    import torch

    from joulemap._session import Session


class Count(NamedTuple):
    """What has ended by a time.

    Attributes
    ----------
    t_ns : int
        CLOCK_MONOTONIC.
    steps, samples, tokens : int
        Since the beginning; samples and tokens as far as they are known.
    at_step : bool
        A step began or ended just then: what lies between two such times is whole steps.
    """

    t_ns: int
    steps: int = 0
    samples: int = 0
    tokens: int = 0
    at_step: bool = False


class Live:
    """Turns counts, told in order of time, into named figures. What is not known has none.

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
        self._last = self._whole = Count(session._began_ns)
        self._total_j = 0.0  # since then
        self._whole_j = 0.0  # of that, up to `_whole`
        self._boards: dict[str, int | str | torch.device | None] = {}  # by name; None stands for the CPU

    def figures(self, now: Count) -> dict[str, float]:
        """Return watts since the count before, joules of the run, and those a step, sample and token since then.

        An interval of which a board's joules are not known is a part of the next one.

        Raises
        ------
        Error
            If the recording cannot be read.
        """
        if not self._boards:
            self._boards = self._find_boards(now.t_ns)
        seconds = 1e-9 * (now.t_ns - self._last.t_ns)
        asked = {name: self._energy_j(gpu, now) for name, gpu in self._boards.items()}
        drawn = {name: energy_j for name, energy_j in asked.items() if energy_j is not None}
        values = {f"power/{name}_w": energy_j / seconds for name, energy_j in drawn.items() if seconds > 0}
        if not drawn or len(drawn) < len(asked):
            return values
        if len(drawn) > 1 and seconds > 0:
            values["power/total_w"] = sum(drawn.values()) / seconds
        self._total_j += sum(drawn.values())
        values["energy/total_j"] = self._total_j
        self._last = now
        if now.at_step:
            values.update(self._each(now))
            self._whole, self._whole_j = now, self._total_j
        return values

    def _each(self, now: Count) -> dict[str, float]:
        if not self._whole.at_step:
            return {}
        counted = {
            "step": now.steps - self._whole.steps,
            "sample": now.samples - self._whole.samples,
            "token": now.tokens - self._whole.tokens,
        }
        spent_j = self._total_j - self._whole_j
        return {f"energy/j_per_{of}": spent_j / count for of, count in counted.items() if count > 0}

    def _energy_j(self, gpu: int | str | torch.device | None, now: Count) -> float | None:
        return self._session.energy(self._last.t_ns, now.t_ns, gpu=gpu, cpu=gpu is None).energy_j

    def _find_boards(self, t_ns: int) -> dict[str, int | str | torch.device | None]:
        if self._gpu is not None:
            meant = _arguments.gpu("gpu", self._gpu)
            return {meant.uuid or f"{'cuda' if meant.is_cuda else 'gpu'}{meant.number}": self._gpu}
        series = self._session.readings(t_ns, t_ns).series
        told = [s for s in series if s.quantity in ("power", "energy") and not s.missing]
        boards: dict[str, int | str | torch.device | None] = {
            f"gpu{s.gpu}": s.gpu for s in told if s.kind == "gpu" and s.gpu is not None
        }
        if any(s.kind == "cpu" for s in told):
            boards["cpu"] = None
        return boards
