"""Rows of a report as an Apache Parquet file, through pyarrow."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

from joulemap import _core

UNITS = {"_j": "J", "_s": "s", "_ns": "ns", "_w": "W"}  # the ends of names


def import_pyarrow() -> Any:
    """Return pyarrow with its Parquet part, or fail with one line that says what to install."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError("Parquet files need pyarrow: pip install 'joulemap[parquet]'") from error
    return pyarrow


def _schema(pyarrow: Any, whole: dict[str, Any]) -> Any:
    """Return a column a field of `Row`, with its words and unit; the file says what the report says beside its rows."""
    types = {"str": pyarrow.string(), "int": pyarrow.int64(), "float": pyarrow.float64()}
    fields = []
    for _, key, kind, text in _core.ROW_FIELDS:
        base, _, missing = kind.partition(" | ")
        about = {"description": text}
        for end, unit in UNITS.items():
            if key.endswith(end):
                about["unit"] = unit
        fields.append(pyarrow.field(key, types[base], nullable=bool(missing), metadata=about))
    beside = {key: value for key, value in whole.items() if key != "rows"}
    return pyarrow.schema(fields, metadata={"joulemap": json.dumps(beside)})


def write(path: str | os.PathLike[str], rows: Sequence[Sequence[Any]], whole: dict[str, Any]) -> None:
    """Write rows (values in the order of `Row`) and, as metadata, the rest of the report.

    Parameters
    ----------
    path : path
        Of the file; written anew.
    rows : sequence
        Of each row the values of its fields; None: missing.
    whole : dict
        The report as `Report.to_dict` gives it.

    Raises
    ------
    ImportError
        Without pyarrow.
    """
    pyarrow = import_pyarrow()
    schema = _schema(pyarrow, whole)
    columns = zip(*rows, strict=True) if rows else ([] for _ in schema)
    arrays = [pyarrow.array(column, type=field.type) for column, field in zip(columns, schema, strict=True)]
    pyarrow.parquet.write_table(pyarrow.Table.from_arrays(arrays, schema=schema), os.fspath(path))
