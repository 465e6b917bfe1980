"""The result of a search for a power cap."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, overload

from joulemap import _arguments, _core
from joulemap._report import written
from joulemap.caps.boards import CapBoard

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Figure95(NamedTuple):
    """A value with the ends of its 95 % interval.

    Attributes
    ----------
    value : float
        A share (0.1: 10 %).
    low, high : float
        The ends of the interval, as shares.
    """

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Trial:
    """A measurement at one cap.

    Attributes
    ----------
    number : int
        Number of the trial, from 1.
    stage : str
        "probe", "sweep" or "proof".
    cap_w : float
        The cap, watts.
    reference : bool
        Whether the cap is the one that was found.
    time_s, power_w : float
        Seconds of a step, and the GPU's mean power, watts.
    """

    number: int
    stage: str
    cap_w: float
    reference: bool
    time_s: float
    power_w: float

    @property
    def energy_j(self) -> float:
        """Joules of a step."""
        return self.time_s * self.power_w


class CapSearch:
    """The result of `search`. `str()` gives the verdict and a table.

    Attributes
    ----------
    board : CapBoard
        The GPU before the search.
    steps : int
        Steps of a window; a trial has three windows.
    """

    def __init__(self, core: _core.Search, board: CapBoard, steps: int) -> None:
        self.board, self.steps = board, steps
        self._core = core
        self._dict: dict[str, Any] = json.loads(core.json())
        self._dict["gpu"] = {"index": board.index, "name": board.name, "uuid": board.uuid}
        self._dict["steps_of_a_window"] = steps

    @property
    def verdict(self) -> Literal["better", "maybe better", "as it is", "no difference"]:
        """Whether the chosen cap is better than the one that was found; docs/caps.md defines the verdicts."""
        verdict: Literal["better", "maybe better", "as it is", "no difference"] = self._dict["verdict"]
        return verdict

    @property
    def cap_w(self) -> float:
        """The chosen cap, watts; with "as it is" and "no difference" the one that was found."""
        return float(self._dict["chosen_cap_w"])

    @property
    def reference_w(self) -> float:
        """The cap that was found, watts; all others are compared with it."""
        return float(self._dict["reference_cap_w"])

    @property
    def objective(self) -> str:
        """The minimized quantity: "ed2p", "edp", "energy" or "time"."""
        return str(self._dict["objective"])

    @property
    def trials(self) -> list[Trial]:
        """The trials, in their order."""
        return [Trial(**{name: one[name] for name in Trial.__slots__}) for one in self._dict["trials"]]

    @property
    def saving(self) -> Figure95 | None:
        """Energy saved at the chosen cap, as a share (0.1: 10 % less), measured by the proof.

        The proof alternates between reference and choice, so that a linear drift cancels. None: there was no proof, as
        with `proof=False`, or if no cap seemed better.
        """
        return self._proof("saving")

    @property
    def slowdown(self) -> Figure95 | None:
        """Increase of the time of a step, as a share (0.03: 3 % longer), measured by the proof; None without one."""
        return self._proof("slowdown")

    @property
    def gain(self) -> Figure95 | None:
        """Decrease of the objective, as a share, measured by the proof; None without one."""
        return self._proof("gain")

    @property
    def bound_proven(self) -> bool | None:
        """Whether the slowdown's whole interval is within `max_slowdown`; None: there was no proof, or no bound."""
        proof = self._dict["proof"]
        return None if proof is None or self._dict["max_slowdown"] is None else bool(proof["bound_proven"])

    def _proof(self, what: str) -> Figure95 | None:
        proof = self._dict["proof"]
        return None if proof is None else Figure95(*(float(proof[what + end]) for end in ("", "_low", "_high")))

    @property
    def predictions(self) -> list[dict[str, Any]]:
        """Predictions of the model for each cap, from the lowest; docs/caps.md has the keys (`predicted.caps`)."""
        caps: list[dict[str, Any]] = self._dict["predicted"]["caps"]
        return caps

    def table(self, *, width: int = 100) -> str:
        """Return verdict and table as text.

        Parameters
        ----------
        width : int
            Columns at which lines are cut.

        Returns
        -------
        str
            The lines, with units in the head.

        Raises
        ------
        TypeError, ValueError
            If `width` is no whole number.
        """
        return self._core.text(_arguments.whole("width", width, 2**31 - 1)).rstrip()

    def __str__(self) -> str:
        return self.table()

    def __repr__(self) -> str:
        return f"<joulemap.types.CapSearch: {self.verdict}, {self.cap_w:g} W>"

    def to_dict(self) -> dict[str, Any]:
        """Return `to_json` as a dict.

        Returns
        -------
        dict
            Keys as in docs/caps.md, with units in their names.
        """
        result: dict[str, Any] = json.loads(self.to_json())
        return result

    @overload
    def to_json(self, path: None = None) -> str: ...
    @overload
    def to_json(self, path: str | os.PathLike[str]) -> None: ...

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str | None:
        """Write the search as JSON, for `joulemap plot FILE --figure power_cap`; docs/caps.md has the keys.

        Parameters
        ----------
        path : path, optional
            File to write; without it the text is returned.

        Returns
        -------
        str or None
            The text; None if it was written to `path`.

        Raises
        ------
        OSError
            If the file cannot be written.
        """
        return written(json.dumps(self._dict) + "\n", path)

    def plot(self, path: str | os.PathLike[str] | None = None, **options: Any) -> Figure:
        """Plot time, energy, EDP and ED2P over the cap.

        Parameters
        ----------
        path : path, optional
            File to write, PNG, SVG or PDF by its ending.
        **options
            As in `joulemap.plots.plot`: dpi, size, ax, dark.

        Returns
        -------
        matplotlib.figure.Figure
            The figure.

        Raises
        ------
        ImportError
            Without Matplotlib.
        """
        from joulemap.plots import plot

        return plot(self, "power_cap", path=path, **options)
