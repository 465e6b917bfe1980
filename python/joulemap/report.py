"""Reports: whose joules, how sure, how known."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import asdict, make_dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from joulemap import _core, _parquet

if TYPE_CHECKING:
    import pandas as pd


if TYPE_CHECKING:
    from joulemap._fields import Quality as Quality
    from joulemap._fields import Row as Row
    from joulemap._fields import Totals as Totals
else:  # the same classes, made from the same table: include/joulemap/report_fields.h

    def _record(name: str, fields: tuple[tuple[str, str, str, str], ...], doc: str) -> type:
        """Make a frozen dataclass with a documented attribute for each field of the core."""
        attributes = [f"{field} : {kind.replace(' | ', ' or ')}\n    {text}." for field, _, kind, text in fields]
        return make_dataclass(
            name,
            [(field, kind) for field, _, kind, _ in fields],
            namespace={
                "__module__": __name__,
                "__doc__": "\n".join([doc, "", "Attributes", "----------", *attributes]),
            },
            frozen=True,
            slots=True,
        )

    Row = _record(
        "Row",
        _core.ROW_FIELDS,
        """One row of a report: a layer, a kernel, a phase ..., or what belongs to none.

Rows stand in pre-order of their tree: a parent before its children. None: missing.""",
    )
    Totals = _record("Totals", _core.TOTALS_FIELDS, "What the rows of a report add up to. None: not known.")
    Quality = _record(
        "Quality", _core.QUALITY_FIELDS, "How good the data are, and what taking them cost. None: not noted."
    )


class Sum(NamedTuple):
    """The energy of some rows together, joules. None: no sensor tells.

    The interval is one of 95 %; errors that the rows share, or that cancel, are counted as such.
    """

    energy_j: float | None
    energy_low_j: float | None
    energy_high_j: float | None


def by_number(by: str) -> int:
    """Return the core's number of a key of rows; ValueError lists the known ones."""
    number = _core.BY.get(by) if isinstance(by, str) else None
    if number is None:
        raise ValueError(f"by={by!r} is not known: use one of {', '.join(_core.BY)}")
    return number


_ROWS_IN_A_NOTEBOOK = 20


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
    def verdict(self) -> str:
        """How far the figures can be trusted: "good", "fair" or "poor"; `quality.verdict_reason` says why."""
        return self.quality.verdict

    @property
    def notes(self) -> list[str]:
        """Sentences that a reader must know: losses, gaps, throttling, the sensor used."""
        return self._core(None).notes()

    def sum(self, of: str | Callable[[Row], bool]) -> Sum:
        """Return the energy of some rows together, each with all below it, nothing counted twice.

        Parameters
        ----------
        of : str or callable
            A shell pattern of paths, in which `*` stands for dots too; or what takes a `Row` and tells whether it
            belongs to the sum.

        Raises
        ------
        Error
            No row's path matches the pattern.

        Examples
        --------
        >>> report.sum("*.attn")  # doctest: +SKIP
        >>> report.sum(lambda row: row.kind == "layer" and row.type == "Linear")  # doctest: +SKIP
        """
        if isinstance(of, str):
            return Sum(*self._core(None).sum_paths(of))
        return Sum(*self._core(None).sum([number for number, row in enumerate(self.rows) if of(row)]))

    def table(
        self,
        by: str | None = None,
        *,
        width: int = 0,
        limit: int = 0,
        depth: int = 0,
        total: bool = False,
        expand: bool = False,
        notes: bool = False,
    ) -> str:
        """Return a table as text.

        Parameters
        ----------
        by : str, optional
            Key of the rows; that of the report if not given.
        width : int
            Columns to cut at; 0 does not cut.
        limit : int
            Most rows to show; 0 shows all.
        depth : int
            Levels of rows in each other to show; 0 shows all.
        total : bool
            Show joules of the run; otherwise those of a step, if the run has several.
        expand : bool
            Show equal layers one by one; otherwise they share a row.
        notes : bool
            Show all notes, and how the fit went; otherwise only what nobody may overlook.
        """
        return self._core(by).text(width, limit, depth, total, expand, notes)

    def to_json(self, by: str | None = None) -> str:
        """Return the JSON text that `joulemap report --json` prints."""
        return self._core(by).json()

    def to_dict(self, by: str | None = None) -> dict[str, Any]:
        """Return `to_json` as a dict."""
        result: dict[str, Any] = json.loads(self.to_json(by))
        return result

    def to_html(self, path: str | os.PathLike[str], *, name: str | None = None) -> None:
        """Write the page of the report: one HTML file that a browser opens without a network.

        Parameters
        ----------
        path : path
            The file to write.
        name : str, optional
            What the run is called on the page.

        Raises
        ------
        Error
            If this is a report by span, the file cannot be written, or joulemap was built without the page.
        """
        core = self._core(None)
        kernels = None if self._by == "kernel" else self._core("kernel")
        spans = self._core("span") if core.wants_spans() else None
        core.html(os.fspath(path), name, kernels, spans)

    def _repr_html_(self) -> str:
        return self._core(None).fragment(_ROWS_IN_A_NOTEBOOK)

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

    def to_parquet(self, path: str | os.PathLike[str], by: str | None = None) -> None:
        """Write the rows as an Apache Parquet file, one column a field of `Row`.

        A column's metadata have its description and, where it has one, its unit; those of the file have, under
        `joulemap`, the JSON of `to_dict` without its rows: version, totals, quality, notes.

        Parameters
        ----------
        path : path
            Of the file; written anew.
        by : str, optional
            Key of the rows; that of the report if not given.

        Raises
        ------
        ImportError
            Without pyarrow.
        """
        _parquet.write(path, self._core(by).rows(), self.to_dict(by))

    def __str__(self) -> str:
        return self.table()

    def __repr__(self) -> str:
        totals = self.totals
        energy = "unknown" if totals.total_energy_j is None else f"{totals.total_energy_j:.6g} J"
        return f"<joulemap.Report by={self._by!r}: {energy}, {len(self.rows)} rows, {self.quality.verdict}>"


def import_pandas() -> Any:
    """Return pandas, or fail with one line that says what to install."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError("data frames need pandas: pip install 'joulemap[pandas]'") from error
    return pandas
