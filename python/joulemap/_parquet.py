"""Rows of a report as an Apache Parquet file, through pyarrow."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

from joulemap import _core

UNITS = {"_j": "J", "_s": "s", "_ns": "ns", "_w": "W"}  # by the ending of a name


def import_pyarrow() -> Any:
    """Return pyarrow with pyarrow.parquet; ImportError says what to install."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError("Parquet files need pyarrow: pip install 'joulemap[parquet]'") from error
    return pyarrow


def _schema(pyarrow: Any, whole: dict[str, Any]) -> Any:
    """Return a schema: a column per field of `Row`, with units, and the rest of the report as metadata."""
    types = {"str": pyarrow.string(), "int": pyarrow.int64(), "float": pyarrow.float64()}
    fields = []
    for _, key, kind, text in _core.ROW_FIELDS:
        base, _, missing = kind.partition(" | ")
        metadata = {"description": text}
        for ending, unit in UNITS.items():
            if key.endswith(ending):
                metadata["unit"] = unit
        fields.append(pyarrow.field(key, types[base], nullable=bool(missing), metadata=metadata))
    rest = {key: value for key, value in whole.items() if key != "rows"}
    return pyarrow.schema(fields, metadata={"joulemap": json.dumps(rest)})


def write(path: str | os.PathLike[str], rows: Sequence[Sequence[Any]], whole: dict[str, Any]) -> None:
    """Write rows (values in the order of `Row`) and, as metadata, the rest of the report.

    Parameters
    ----------
    path : path
        The file; an existing one is replaced.
    rows : sequence
        The field values of each row; None: missing.
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
