"""Reports: whose joules, how sure, how known."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from joulemap import _core

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a report: a layer, a kernel, a phase ..., or what belongs to none.

    Rows stand in pre-order of their tree: a parent before its children.

    Attributes
    ----------
    name, path : str
        "attn" and "blocks.0.attn".
    kind : str
        "forward", "backward", "recompute", "optimizer", "kernel", "idle", "outside", "unresolved", ...
    depth : int
        Depth in the tree, from 0.
    calls : int
        How often it ran.
    busy_s : float
        Seconds that its kernels (without a GPU: its spans) took, children included.
    energy_j : float or None
        Joules with all children; None where no sensor tells.
    energy_low_j, energy_high_j : float or None
        95 % interval of `energy_j`, relative to the board's own sensor.
    energy_self_j : float or None
        Joules without children. Those of all rows add up to the total.
    power_w : float or None
        `energy_j / busy_s`, None where it was never busy.
    share : float or None
        `energy_j` as a part of the total, None where the total is not known.
    provenance : str
        "measured", "fitted", "isolated", "modelled" or "unresolved".
    boards : str
        Indices of the boards, such as "0" or "0,1".
    start_ns, end_ns : int
        CLOCK_MONOTONIC; for `by="span"` the occurrence, else the first one.
    """

    name: str
    path: str
    kind: str
    depth: int
    calls: int
    busy_s: float
    energy_j: float | None
    energy_low_j: float | None
    energy_high_j: float | None
    energy_self_j: float | None
    power_w: float | None
    share: float | None
    provenance: str
    boards: str
    start_ns: int
    end_ns: int


@dataclass(frozen=True, slots=True)
class Totals:
    """What the rows of a report add up to, and how good the data are. None: not known.

    Attributes
    ----------
    total_energy_j, total_low_j, total_high_j : float or None
        Joules of all boards with their 95 % interval.
    total_source : str or None
        The sensor behind it: "energy_counter", "power_ring".
    idle_energy_j, outside_energy_j, unresolved_energy_j : float or None
        Joules of no layer: nothing ran; something ran outside all layers; not separable.
    closure, closure_z : float or None
        How far the parts are from the independent total: relative, and in standard uncertainties.
    duration_s : float or None
        Seconds covered.
    residual_w, chi2_n : float or None
        Root mean square and reduced chi square of the fit.
    readings : int
        Number of sensor readings used.
    simulated : bool
        True if any board was a simulated one.
    """

    total_energy_j: float | None
    total_low_j: float | None
    total_high_j: float | None
    total_source: str | None
    idle_energy_j: float | None
    outside_energy_j: float | None
    unresolved_energy_j: float | None
    closure: float | None
    closure_z: float | None
    duration_s: float | None
    residual_w: float | None
    chi2_n: float | None
    readings: int
    simulated: bool


@dataclass(frozen=True, slots=True)
class Quality:
    """How good the data are, and what taking them cost. None: not noted.

    Attributes
    ----------
    gaps : int
        Stretches without readings.
    gap_s : float
        Their length, seconds.
    lost_records : int
        Spans and kernels that did not fit.
    throttle_events : int
        Times that a board began to throttle.
    overhead_cpu_s : float or None
        CPU time of the sampler, seconds.
    overhead_calls : int or None
        Reads of sensors.
    overhead_call_s : float or None
        Seconds spent in them.
    sensors : list of str
        What the fit used, one for each board: "0: power_ring".
    """

    gaps: int
    gap_s: float
    lost_records: int
    throttle_events: int
    overhead_cpu_s: float | None
    overhead_calls: int | None
    overhead_call_s: float | None
    sensors: list[str]


def by_number(by: str) -> int:
    """Return the core's number of a key of rows; ValueError lists the known ones."""
    try:
        return _core.BY[by]
    except KeyError:
        raise ValueError(f"by={by!r} is not known: use one of {', '.join(_core.BY)}") from None


class Report:
    """Rows, totals and notes of a recording, or of a part of it.

    Made by `Session.report` and `Recording.report`. Another key of rows
    than its own is computed when it is first asked for.
    """

    def __init__(self, make: Callable[[int], _core.Report], by: str) -> None:
        self._make = make
        self._by = by
        self._cores: dict[str, _core.Report] = {}
        self._core(by)

    def _core(self, by: str | None) -> _core.Report:
        key = self._by if by is None else by
        core = self._cores.get(key)
        if core is None:
            core = self._cores[key] = self._make(by_number(key))
        return core

    @property
    def by(self) -> str:
        """Key of the rows: "layer", "kernel", "type", "phase", "board" or "span"."""
        return self._by

    @property
    def rows(self) -> list[Row]:
        """The rows, parents before children."""
        return [Row(*fields) for fields in self._core(None).rows()]

    @property
    def totals(self) -> Totals:
        """What the rows add up to."""
        return Totals(**self._core(None).totals())

    @property
    def quality(self) -> Quality:
        """How good the data are, and what taking them cost."""
        return Quality(**self._core(None).quality())

    @property
    def notes(self) -> list[str]:
        """Sentences that a reader must know: losses, gaps, throttling, the sensor used."""
        return self._core(None).notes()

    def table(self, by: str | None = None, *, width: int = 0, limit: int = 0) -> str:
        """Return a table as text.

        Parameters
        ----------
        by : str, optional
            Key of the rows; that of the report if not given.
        width : int
            Columns to cut at; 0 does not cut.
        limit : int
            Most rows to show; 0 shows all.
        """
        return self._core(by).text(width, limit)

    def to_json(self, by: str | None = None) -> str:
        """Return the JSON text that `joulemap report --json` prints."""
        return self._core(by).json()

    def to_dict(self, by: str | None = None) -> dict[str, Any]:
        """Return `to_json` as a dict."""
        result: dict[str, Any] = json.loads(self.to_json(by))
        return result

    def dataframe(self, by: str | None = None) -> pd.DataFrame:
        """Return the rows as a pandas DataFrame, one column a field of `Row`.

        Raises
        ------
        ImportError
            Without pandas.
        """
        pandas = import_pandas()
        rows = [asdict(Row(*fields)) for fields in self._core(by).rows()]
        frame: pd.DataFrame = pandas.DataFrame(rows, columns=list(Row.__dataclass_fields__))
        return frame

    def __str__(self) -> str:
        return self.table()

    def __repr__(self) -> str:
        totals = self.totals
        energy = "unknown" if totals.total_energy_j is None else f"{totals.total_energy_j:.6g} J"
        return f"<joulemap.Report by={self._by!r}: {energy}, {len(self.rows)} rows>"


def import_pandas() -> Any:
    """Return pandas, or fail with one line that says what to install."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError("data frames need pandas: pip install 'joulemap[pandas]'") from error
    return pandas
