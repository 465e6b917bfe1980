"""Cells of CSV files, as `joulemap export --format csv` has them: docs/report.md."""

from __future__ import annotations

import re
from typing import Any

_FORMULA = re.compile(r"'*[-=+@\t\r]")


def cell(value: Any) -> Any:
    """Return what stands for a value: "" for a missing one, and one more apostrophe before a text that would be run.

    A spreadsheet takes a text that begins with = + - @, a tab or a carriage return for a formula
    (https://owasp.org/www-community/attacks/CSV_Injection). Numbers are as they are.
    """
    if value is None or value != value:
        return ""
    return f"'{value}" if isinstance(value, str) and _FORMULA.match(value) else value
