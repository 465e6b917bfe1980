"""Cells of CSV files, as `joulemap export --format csv` writes them (docs/report.md)."""

from __future__ import annotations

import re
from typing import Any

_FORMULA = re.compile(r"'*[-=+@\t\r]")


def cell(value: Any) -> Any:
    """Return the cell for a value: "" if it is missing; a text that looks like a formula gets an apostrophe.

    A spreadsheet takes a text that begins with = + - @, a tab or a carriage return for a formula
    (https://owasp.org/www-community/attacks/CSV_Injection). Numbers stay as they are.
    """
    if value is None or value != value:
        return ""
    return f"'{value}" if isinstance(value, str) and _FORMULA.match(value) else value
