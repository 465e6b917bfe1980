"""Reports: energy by row, with intervals and provenance."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, overload

from joulemap import _arguments, _core, _parquet
from joulemap._texts import energy_text, seconds_text, share_text
from joulemap._tree import Node, grow

if TYPE_CHECKING:
    import pandas as pd

    from joulemap._row_types import Quality, Row, Totals


class Sum(NamedTuple):
    """The sum of the energy of some rows. None: no sensor measured it.

    The interval takes the correlation of the rows' errors into account.

    Attributes
    ----------
    energy_j : float or None
        Joules.
    energy_low_j, energy_high_j : float or None
        Ends of the 95 % interval, joules.
    """

    energy_j: float | None
    energy_low_j: float | None
    energy_high_j: float | None

    def __repr__(self) -> str:
        return f"<joulemap.types.Sum {energy_text(*self)}>"


class Stage(NamedTuple):
    """A part of a run with steps: the steady steps, what is before, between and after them.

    Attributes
    ----------
    name : str
        "steady steps", "before the first step", "warm-up steps", "longer steps", "other kinds of steps",
        "between steps", "after the last step", "counter sampling, tracing", "work not seen" or "unresolved".
    steps : int or None
        Number of steps; None if it is no steps.
    seconds : float or None
        Its time; None if that is in the others' time.
    energy_j : float
        Joules; those of all parts add up to `Totals.total_energy_j`.
    """

    name: str
    steps: int | None
    seconds: float | None
    energy_j: float


@dataclass(frozen=True, slots=True, repr=False)
class Group:
    """A group of equal layers, as the table shows them; by other keys than the layer each row is a group.

    Attributes
    ----------
    name : str
        "blocks.*" for layers that differ only in their number.
    path : str
        "blocks.*.attn"; for one row its own path.
    kind, type : str
        As in `Row`.
    depth : int
        Depth in the tree of groups, from 0.
    members : int
        Number of rows.
    rows : tuple of int
        Their indices in `Report.rows`.
    calls : int
        Calls of all members together.
    busy_s : float
        Seconds of their kernels.
    energy_j, energy_low_j, energy_high_j : float or None
        Joules with all children, and the 95 % interval of the sum; None if not known. If there are very many groups,
        the smallest ones have no interval.
    step_s, step_j, step_low_j, step_high_j : float or None
        The same in a steady step, as in `Row`; None without steps.
    power_w, share : float or None
        Watts while busy, and the share of the total.
    provenance : str
        The least certain provenance of the members.
    """

    name: str
    path: str
    kind: str
    type: str
    depth: int
    members: int
    rows: tuple[int, ...]
    calls: int
    busy_s: float
    energy_j: float | None
    energy_low_j: float | None
    energy_high_j: float | None
    step_s: float | None
    step_j: float | None
    step_low_j: float | None
    step_high_j: float | None
    power_w: float | None
    share: float | None
    provenance: str

    def __repr__(self) -> str:
        energy = energy_text(self.energy_j, self.energy_low_j, self.energy_high_j)
        share = "" if self.share is None else f", {share_text(self.share)}"
        return f"<joulemap.types.Group {self.path!r}, {self.members} rows: {energy}{share}>"


@dataclass(frozen=True, slots=True, repr=False)
class RequestCost:
    """The energy of a server's request: its share of each step that it took part in.

    Attributes
    ----------
    id : str
        As given to `request`; with its number and process if the same id was used before.
    energy_j, energy_low_j, energy_high_j : float or None
        Joules and their 95 % interval; None: no sensor measured it.
    prefill_j, decode_j : float or None
        Joules of its prefill and its decode; 0 if it had none.
    prefill_tokens, decode_tokens : int or None
        Tokens of its prompt that were processed, and tokens after that, or those it `made`; None: unknown.
    steps : int
        Number of its steps.
    start_ns, end_ns : int
        CLOCK_MONOTONIC of its begin, and of its end or last step, nanoseconds.
    """

    id: str
    energy_j: float | None
    energy_low_j: float | None
    energy_high_j: float | None
    prefill_j: float | None
    decode_j: float | None
    prefill_tokens: int | None
    decode_tokens: int | None
    steps: int
    start_ns: int
    end_ns: int

    @property
    def duration_s(self) -> float:
        """Seconds from its beginning to its end, waiting included."""
        return 1e-9 * (self.end_ns - self.start_ns)

    def __repr__(self) -> str:
        energy = energy_text(self.energy_j, self.energy_low_j, self.energy_high_j)
        return f"<joulemap.types.RequestCost {self.id!r}: {energy} in {seconds_text(self.duration_s)}>"


def _request_cost(row: Row, parts: dict[str, Row]) -> RequestCost:
    prefill, decode = parts.get("prefill"), parts.get("decode")
    return RequestCost(
        row.name,
        row.energy_j,
        row.energy_low_j,
        row.energy_high_j,
        prefill.energy_j if prefill else 0.0,
        decode.energy_j if decode else 0.0,
        prefill.tokens if prefill else None,
        decode.tokens if decode else None,
        row.calls,
        row.start_ns,
        row.end_ns,
    )


# Keys to sort rows by, in addition to their fields.
_SORT_KEYS = {"energy": "energy_j", "self": "energy_self_j", "power": "power_w", "time": "busy_s"}


def by_number(by: str) -> int:
    """Return the core's number of a key of rows; ValueError lists the known ones."""
    number = _core.BY.get(by) if isinstance(by, str) else None
    if number is None:
        raise ValueError(f"by={by!r} is not known: use one of {', '.join(_core.BY)}")
    return number


_ROWS_IN_A_NOTEBOOK = 20


class Report:
    """Rows, totals and notes of a recording, or of a part of it.

    `Session.report` and `Recording.report` make it. Rows by another key are computed on first use. Iterating yields
    the rows.
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
        """Key of the rows: "layer", "kernel", "type", "phase", "board", "span", "request" or "class"."""
        return self._by

    @property
    def rows(self) -> list[Row]:
        """The rows, parents before children."""
        return self._rows(None)

    def _rows(self, by: str | None) -> list[Row]:
        from joulemap._row_types import Row

        return [Row(*fields) for fields in self._core(by).rows()]

    @property
    def totals(self) -> Totals:
        """The totals."""
        from joulemap._row_types import Totals

        return Totals(**self._core(None).totals())

    @property
    def quality(self) -> Quality:
        """The quality of the data, and the cost of measuring."""
        from joulemap._row_types import Quality

        return Quality(**self._core(None).quality())

    @property
    def verdict(self) -> str:
        """How reliable the figures are: "good", "fair" or "poor"; `quality.verdict_reason` says why."""
        return self.quality.verdict

    @property
    def notes(self) -> list[str]:
        """Sentences that a reader must know: losses, gaps, throttling, the sensor used."""
        return self._core(None).notes()

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __bool__(self) -> bool:
        return True  # also without rows

    def sorted(self, key: str | Callable[[Row], Any] = "energy", *, reverse: bool = True) -> list[Row]:
        """Return the rows sorted, the largest first; rows without a value come last.

        Parameters
        ----------
        key : str or callable
            "energy", "self" (without children), "share", "power", "time", "calls" or another field of `Row`; or a
            function that takes a `Row` and returns the value to sort by (None: not known).
        reverse : bool
            False: the smallest first.

        Returns
        -------
        list of Row
            All rows.

        Raises
        ------
        ValueError
            If `key` is no field.
        """
        from joulemap._row_types import Row

        if callable(key):
            value_of = key
        else:
            field = _SORT_KEYS.get(key, key) if isinstance(key, str) else key
            if field not in Row.__dataclass_fields__:
                known = ", ".join([*_SORT_KEYS, *Row.__dataclass_fields__])
                raise ValueError(f"key={key!r} is not known: use one of {known}")

            def value_of(row: Row) -> Any:
                return getattr(row, field)

        keyed = [(value_of(row), row) for row in self.rows]
        known_rows = sorted(((value, row) for value, row in keyed if value is not None), key=lambda pair: pair[0])
        if reverse:
            known_rows.reverse()
        return [row for _, row in known_rows] + [row for value, row in keyed if value is None]

    def tree(self, by: str | None = None) -> Node:
        """Return the rows as a tree.

        Parameters
        ----------
        by : str, optional
            Key of the rows; the report's own key by default.

        Returns
        -------
        Node
            The root above all rows, with `.children`, each with its `.row`.

        Raises
        ------
        ValueError
            If `by` is no key.
        """
        return grow(self._rows(by))

    @property
    def stages(self) -> list[Stage]:
        """The parts of a run with steps, whose joules add up to the total; empty without steps."""
        return [Stage(*fields) for fields in self._core(None).stages()]

    def groups(self, by: str | None = None) -> list[Group]:
        """Return groups of equal layers, as the table shows them, each with the interval of its sum.

        Parameters
        ----------
        by : str, optional
            Key of the rows; the report's own key by default.

        Returns
        -------
        list of Group
            Parents before their children.

        Raises
        ------
        ValueError
            If `by` is no key.
        """
        return [Group(**fields) for fields in self._core(by).groups()]

    def requests(self) -> list[RequestCost]:
        """Return the energy of each request of a server; `joulemap.request` begins one.

        Returns
        -------
        list of RequestCost
            In the order of their begin.

        Raises
        ------
        Error
            If the recording has no requests.
        """
        return [
            _request_cost(node.row, {part.row.kind: part.row for part in node.children if part.row is not None})
            for node in self.tree("request").children
            if node.row is not None and node.row.kind == "request"
        ]

    def sum(self, of: str | Callable[[Row], bool]) -> Sum:
        """Return the sum of the energy of some rows, each with its children; nothing counts twice.

        Parameters
        ----------
        of : str or callable
            A shell pattern of paths, in which `*` also matches dots; or a function that takes a `Row` and returns
            whether it belongs to the sum.

        Returns
        -------
        Sum
            Joules, with the ends of the 95 % interval.

        Raises
        ------
        Error
            If no row's path matches the pattern.
        TypeError
            If `of` is neither a text nor callable.

        Examples
        --------
        >>> report.sum("*.attn")  # doctest: +SKIP
        >>> report.sum(lambda row: row.kind == "layer" and row.type == "Linear")  # doctest: +SKIP
        """
        if isinstance(of, str):
            return Sum(*self._core(None).sum_paths(_arguments.text("of", of)))
        if not callable(of):
            raise TypeError(f"of is a pattern of paths or what takes a Row, not {of!r} ({type(of).__name__})")
        return Sum(*self._core(None).sum([number for number, row in enumerate(self.rows) if of(row)]))

    def table(
        self,
        by: str | None = None,
        *,
        width: int | None = None,
        limit: int | None = None,
        depth: int | None = None,
        total: bool = False,
        expand: bool = False,
        notes: bool = False,
    ) -> str:
        """Return a table as text.

        Parameters
        ----------
        by : str, optional
            Key of the rows; the report's own key by default.
        width : int, optional
            Columns at which lines are cut; without it they are not cut.
        limit : int, optional
            Maximum number of rows; without it all rows.
        depth : int, optional
            Maximum depth of nested rows; without it all levels.
        total : bool
            Show joules of the run; otherwise joules per step, if the run has several steps.
        expand : bool
            Show equal layers one by one; otherwise they share a row.
        notes : bool
            Show all notes and details of the fit; otherwise only notes that a reader must know.

        Returns
        -------
        str
            The lines of the table, with units in the head.

        Raises
        ------
        TypeError, ValueError
            If an argument is wrong.
        """
        return self._core(by).text(
            _arguments.whole_or_all("width", width, 2**31 - 1),
            _arguments.whole_or_all("limit", limit),
            _arguments.whole_or_all("depth", depth),
            _arguments.flag("total", total),
            _arguments.flag("expand", expand),
            _arguments.flag("notes", notes),
        )

    @overload
    def to_json(self, path: None = None, *, by: str | None = None) -> str: ...
    @overload
    def to_json(self, path: str | os.PathLike[str], *, by: str | None = None) -> None: ...

    def to_json(self, path: str | os.PathLike[str] | None = None, *, by: str | None = None) -> str | None:
        """Write the JSON that `joulemap report --json` prints; docs/schema has its keys.

        Parameters
        ----------
        path : path, optional
            File to write; without it the text is returned.
        by : str, optional
            Key of the rows; the report's own key by default.

        Returns
        -------
        str or None
            The text; None if it was written to `path`.

        Raises
        ------
        OSError
            If the file cannot be written.
        ValueError
            If `by` is no key.
        """
        return written(self._core(by).json(), path)

    def to_dict(self, *, by: str | None = None) -> dict[str, Any]:
        """Return `to_json` as a dict.

        Parameters
        ----------
        by : str, optional
            Key of the rows; the report's own key by default.

        Returns
        -------
        dict
            Keys as in docs/schema, with units in their names.

        Raises
        ------
        ValueError
            If `by` is no key.
        """
        result: dict[str, Any] = json.loads(self._core(by).json())
        return result

    def to_html(self, path: str | os.PathLike[str], *, name: str | None = None) -> None:
        """Write the report as a page: one HTML file that a browser opens without a network.

        If writing fails, an existing page is not changed.

        Parameters
        ----------
        path : path
            The file to write.
        name : str, optional
            Name of the run on the page.

        Raises
        ------
        Error
            If this is a report by span, the file cannot be written, or joulemap was built without the page.
        """
        core = self._core(None)
        kernels = None if self._by == "kernel" else self._core("kernel")
        spans = self._core("span") if core.wants_spans() else None
        page = core.html(None if name is None else _arguments.text("name", name), kernels, spans)
        file = _arguments.path("path", path)
        try:
            written(page, file)
        except OSError as error:
            raise _core.Error(f"cannot write {file}: {error.strerror}") from error

    def _repr_html_(self) -> str:
        return self._core(None).fragment(_ROWS_IN_A_NOTEBOOK)

    @overload
    def to_csv(self, path: None = None, *, by: str | None = None) -> str: ...
    @overload
    def to_csv(self, path: str | os.PathLike[str], *, by: str | None = None) -> None: ...

    def to_csv(self, path: str | os.PathLike[str] | None = None, *, by: str | None = None) -> str | None:
        """Write the rows as CSV, like `joulemap export --format csv`: a column per field of `Row`, units in names.

        Parameters
        ----------
        path : path, optional
            File to write; without it the text is returned.
        by : str, optional
            Key of the rows; the report's own key by default.

        Returns
        -------
        str or None
            The text; None if it was written to `path`.

        Raises
        ------
        OSError
            If the file cannot be written.
        TypeError, ValueError
            If `path` is no path, or `by` no key.
        """
        return written(self._core(by).csv(), path)

    def to_pandas(self, *, by: str | None = None) -> pd.DataFrame:
        """Return the rows as a pandas DataFrame.

        Parameters
        ----------
        by : str, optional
            Key of the rows; the report's own key by default.

        Returns
        -------
        pandas.DataFrame
            One row per row, one column per field of `Row`, units in names.

        Raises
        ------
        ImportError
            Without pandas.
        ValueError
            If `by` is no key.
        """
        from joulemap._row_types import Row

        return frame(Row, self._rows(by))

    def to_parquet(self, path: str | os.PathLike[str], *, by: str | None = None) -> None:
        """Write the rows as an Apache Parquet file, one column per field of `Row`.

        The metadata of a column have its description and unit. The metadata of the file have, under `joulemap`, the
        JSON of `to_dict` without the rows: version, totals, quality, notes.

        Parameters
        ----------
        path : path
            The file; an existing one is replaced.
        by : str, optional
            Key of the rows; the report's own key by default.

        Raises
        ------
        ImportError
            Without pyarrow.
        OSError
            If the file cannot be written.
        ValueError
            If `by` is no key.
        """
        _parquet.write(path, self._core(by).rows(), self.to_dict(by=by))

    def __str__(self) -> str:
        return self.table()

    def __repr__(self) -> str:
        totals = self.totals
        energy = energy_text(totals.total_energy_j, totals.total_low_j, totals.total_high_j)
        return f"<joulemap.types.Report by={self._by!r}: {energy}, {len(self.rows)} rows, {self.quality.verdict}>"


def import_pandas() -> Any:
    """Return pandas; ImportError says what to install."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError("data frames need pandas: pip install 'joulemap[pandas]'") from error
    return pandas


def frame(kind: Any, rows: Iterable[Any]) -> pd.DataFrame:
    """Return dataclass instances as a DataFrame, one column per field."""
    table: pd.DataFrame = import_pandas().DataFrame(
        [asdict(row) for row in rows], columns=list(kind.__dataclass_fields__)
    )
    return table


def written(text: str, path: str | os.PathLike[str] | None) -> str | None:
    """Return a text; with a path write it there atomically, and return None."""
    if path is None:
        return text
    from joulemap import _atomic_file  # `tempfile` takes as long to import as all of joulemap

    _atomic_file.write(_arguments.path("path", path), text)
    return None
