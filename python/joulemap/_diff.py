"""Comparison of two runs, or of several runs of each side: what changed, and what is within the noise."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

from joulemap import _arguments, _core
from joulemap._recording import Recording
from joulemap._report import Report, frame, written
from joulemap._session import Session
from joulemap._texts import energy_text, html_table

if TYPE_CHECKING:
    from typing import TypeAlias

    import pandas as pd

    Run: TypeAlias = str | os.PathLike[str] | Recording | Session | Report
    Runs: TypeAlias = Run | Sequence[Run]


_ROWS_IN_A_NOTEBOOK = 20


@dataclass(frozen=True, slots=True, repr=False)
class DiffRow:
    """A row of both sides, or their totals. Energies are joules per unit (`Diff.per`).

    For several runs per side, an energy is the mean of the runs that have the row.

    Attributes
    ----------
    name, path, kind : str
        As in `Row`; the path is A's, or B's in a row that only B has.
    depth : int
        Depth in the tree, wrappers left out.
    a_j, a_low_j, a_high_j, b_j, b_low_j, b_high_j : float or None
        Energies, with the ends of their 95 % intervals. None: not known, or the side has no such row.
    change, change_low, change_high : float or None
        b_j / a_j - 1 (-0.1: 10 % less) and its 95 % interval.
    verdict : str
        "less", "more", "no difference seen", "only in A", "only in B" or "not known".
    a_runs, b_runs : int
        Number of runs of each side that have the row.
    a_deviation_j, b_deviation_j : float or None
        Standard deviation (n - 1) of one run of the side; None for fewer than two runs.
    a_s, b_s : float or None
        Busy seconds per unit, of the total all seconds; the mean over the runs.
    """

    name: str
    path: str
    kind: str
    depth: int
    a_j: float | None
    a_low_j: float | None
    a_high_j: float | None
    b_j: float | None
    b_low_j: float | None
    b_high_j: float | None
    change: float | None
    change_low: float | None
    change_high: float | None
    verdict: str
    a_runs: int
    b_runs: int
    a_deviation_j: float | None
    b_deviation_j: float | None
    a_s: float | None
    b_s: float | None

    def _figures(self) -> tuple[str, str, str]:
        """Return both energies and the change as texts; a side without the row has an empty one."""
        a = "" if self.verdict == "only in B" else energy_text(self.a_j, self.a_low_j, self.a_high_j)
        b = "" if self.verdict == "only in A" else energy_text(self.b_j, self.b_low_j, self.b_high_j)
        if self.change is None or self.change_low is None or self.change_high is None:
            return a, b, ""
        return a, b, f"{100 * self.change:+.1f} ±{50 * (self.change_high - self.change_low):.1f} %"

    def __repr__(self) -> str:
        change = self._figures()[2]
        return f"<joulemap.types.DiffRow {self.path!r}: {change + ', ' if change else ''}{self.verdict}>"


class Diff:
    """The result of `joulemap.diff`. Iterating yields the rows, `str()` gives a table."""

    def __init__(self, core: _core.Diff) -> None:
        self._core = core

    @property
    def rows(self) -> list[DiffRow]:
        """The rows in the order of A's report, then the rows that only B has."""
        return [DiffRow(**fields) for fields in self._core.rows()]

    @property
    def total(self) -> DiffRow:
        """The two runs as a whole."""
        return DiffRow(**self._core.total())

    @property
    def per(self) -> str:
        """The unit that energies are divided by: "run", "step", "sample" or "token"."""
        return self._core.per

    @property
    def gpu(self) -> str:
        """Whether both ran on the same GPUs: "same", "different" or "unknown"."""
        return self._core.gpu

    @property
    def gain_u(self) -> float:
        """Relative standard uncertainty of the total's change from sensor gains; they cancel (0) on the same GPU."""
        return self._core.gain_u

    def __iter__(self) -> Iterator[DiffRow]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __bool__(self) -> bool:
        return True  # also without rows

    def is_over(self, change: float) -> bool:
        """Return whether B certainly takes more than A by this share, as `joulemap diff --fail-over` decides.

        Parameters
        ----------
        change : float
            Relative change of the total (0.03: 3 % more).

        Returns
        -------
        bool
            True if the lower end of the change's 95 % interval is above `change`; False if it is not known.

        Raises
        ------
        TypeError, ValueError
            If `change` is no number above -1.
        """
        low = self.total.change_low
        return low is not None and low > _arguments.real("change", change, -1, 1e9)

    def table(self, *, width: int | None = None, limit: int | None = None) -> str:
        """Return a table as text.

        Parameters
        ----------
        width : int, optional
            Columns at which lines are cut; without it they are not cut.
        limit : int, optional
            Maximum number of rows; without it all rows.

        Returns
        -------
        str
            The lines of the table.

        Raises
        ------
        TypeError, ValueError
            If an argument is no whole number from 1.
        """
        return self._core.text(
            _arguments.whole_or_all("width", width, 2**31 - 1), _arguments.whole_or_all("limit", limit)
        )

    def to_markdown(self, *, limit: int | None = None) -> str:
        """Return the table as Markdown, for a pull request.

        Parameters
        ----------
        limit : int, optional
            Maximum number of rows; without it all rows.

        Returns
        -------
        str
            The lines of the table.

        Raises
        ------
        TypeError, ValueError
            If `limit` is no whole number from 1.
        """
        return self._core.markdown(_arguments.whole_or_all("limit", limit))

    @overload
    def to_json(self, path: None = None) -> str: ...
    @overload
    def to_json(self, path: str | os.PathLike[str]) -> None: ...

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str | None:
        """Write the JSON that `joulemap diff --json` prints; docs/schema has its keys.

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
        return written(self._core.json(), path)

    def to_dict(self) -> dict[str, Any]:
        """Return `to_json` as a dict.

        Returns
        -------
        dict
            Keys as in docs/schema, with units in their names.
        """
        result: dict[str, Any] = json.loads(self._core.json())
        return result

    def to_pandas(self) -> pd.DataFrame:
        """Return the rows as a pandas DataFrame.

        Returns
        -------
        pandas.DataFrame
            One row per row, one column per field of `DiffRow`.

        Raises
        ------
        ImportError
            Without pandas.
        """
        return frame(DiffRow, self.rows)

    def __str__(self) -> str:
        return self.table()

    def _repr_html_(self) -> str:
        total, rows = self.total, sorted(self.rows, key=lambda row: -max(abs(row.a_j or 0.0), abs(row.b_j or 0.0)))
        cells = [("total", *total._figures(), total.verdict)]
        cells += [(row.path, *row._figures(), row.verdict) for row in rows[:_ROWS_IN_A_NOTEBOOK]]
        more = len(rows) - _ROWS_IN_A_NOTEBOOK
        left_out = f"; {more} smaller rows are not shown" if more > 0 else ""
        closing = " ".join(self.table().strip().rpartition("\n\n")[2].splitlines())  # on the GPUs
        return html_table(f"joules per {self.per}{left_out}. {closing}", ("", "A", "B", "change", "verdict"), cells)

    def __repr__(self) -> str:
        total = self.total
        change = total._figures()[2] or "not known"
        return f"<joulemap.types.Diff per={self.per!r}: {change}, {total.verdict}, {len(self.rows)} rows>"


def _report_of(what: str, run: Any, options: dict[str, Any]) -> tuple[Report, str | None]:
    """Return the report of a run, and the run's name."""
    if isinstance(run, Report):
        if options:
            raise TypeError(f"{what} is a Report, so {', '.join(options)} cannot apply to it: give the run itself")
        return run, None
    if isinstance(run, Session):
        return run.report(**options), None
    if isinstance(run, Recording):
        return run.report(**options), run.name
    recording = Recording(_arguments.path(what, run))
    return recording.report(**options), recording.name


def _side_of(what: str, runs: Any, options: dict[str, Any]) -> tuple[tuple[_core.Report, str | None], ...]:
    """Return the reports of a side, with names."""
    if isinstance(runs, (list, tuple)):
        if not runs:
            raise ValueError(f"{what} has no runs: give one, or a list of them")
        reports = [_report_of(f"{what}[{i}]", run, options) for i, run in enumerate(runs)]
    else:
        reports = [_report_of(what, runs, options)]
    return tuple((report._core(None), name) for report, name in reports)


def diff(
    a: Runs,
    b: Runs,
    *,
    per: str | None = None,
    names: tuple[str, str] | None = None,
    expand: bool = False,
    **options: Any,
) -> Diff:
    """Compare two runs, or several runs of each side.

    Rows are matched by path and kind. Each change comes with its 95 % interval.

    Parameters
    ----------
    a, b : path, Recording, Session or Report, or a list of them
        The run before and the run after. For several runs each figure is the mean, and its interval includes the
        spread from run to run.
    per : str, optional
        The unit that energies are divided by: "run", "step", "sample" or "token". Without it "step" if all runs mark
        their steps.
    names : tuple of str, optional
        Names of the two sides in the table. Without it the common part of their file names, else A and B.
    expand : bool, optional
        Show equal layers one by one; otherwise layers with the same change share a row.
    **options
        As in `Session.report`: `by`, `phase`, `gpu`, ...

    Returns
    -------
    Diff
        The rows and totals.

    Raises
    ------
    Error
        If a run cannot be read, or does not mark its steps or samples.
    TypeError, ValueError
        If an argument is wrong.

    Examples
    --------
    >>> changed = joulemap.diff("base.joulemap", "fused.joulemap", per="step")  # doctest: +SKIP
    >>> print(changed)  # doctest: +SKIP
    >>> [row.path for row in changed if row.verdict == "more"]  # doctest: +SKIP
    """
    if per is not None and per not in _core.PER:
        raise ValueError(f"per={per!r} is not known: use one of {', '.join(_core.PER)}")
    name_a, name_b = (None, None) if names is None else (_arguments.text("names", name) for name in names)
    return Diff(
        _core.Diff(
            _side_of("a", a, options),
            _side_of("b", b, options),
            per=0 if per is None else _core.PER[per],
            name_a=name_a,
            name_b=name_b,
            expand=bool(expand),
        )
    )
