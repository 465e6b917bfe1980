"""Row, Totals and Quality: classes with a field for each of include/joulemap/report_fields.h.

Making them takes a fifth of the time of `import joulemap`, so that is left to the first report.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import make_dataclass
from typing import TYPE_CHECKING, Any

from joulemap import _core
from joulemap._texts import energy_text, seconds_text, share_text

if TYPE_CHECKING:
    from joulemap._fields import Quality as Quality
    from joulemap._fields import Row as Row
    from joulemap._fields import Totals as Totals
else:

    def _record(
        name: str, fields: tuple[tuple[str, str, str, str], ...], doc: str, shown: Callable[[Any], str]
    ) -> type:
        """Make a frozen dataclass with a documented attribute for each field of the core."""
        attributes = [f"{field} : {kind.replace(' | ', ' or ')}\n    {text}." for field, _, kind, text in fields]
        return make_dataclass(
            name,
            [(field, kind) for field, _, kind, _ in fields],
            namespace={
                "__module__": __name__,
                "__doc__": "\n".join([doc, "", "Attributes", "----------", *attributes]),
                "__repr__": lambda self: f"<joulemap.types.{name} {shown(self)}>",
            },
            frozen=True,
            slots=True,
            repr=False,
        )

    def _row(row: Row) -> str:
        energy = energy_text(row.energy_j, row.energy_low_j, row.energy_high_j)
        return ", ".join(filter(None, [f"{row.kind} {row.path!r}: {energy}", share_text(row.share)]))

    def _totals(totals: Totals) -> str:
        energy = energy_text(totals.total_energy_j, totals.total_low_j, totals.total_high_j)
        return f"{energy} in {seconds_text(totals.duration_s)}"

    Row = _record(
        "Row",
        _core.ROW_FIELDS,
        """One row of a report: a layer, a kernel, a phase ..., or energy outside of them.

Rows are in pre-order of their tree: a parent comes before its children. None: missing.""",
        _row,
    )
    Totals = _record("Totals", _core.TOTALS_FIELDS, "The totals of a report. None: not known.", _totals)
    Quality = _record(
        "Quality",
        _core.QUALITY_FIELDS,
        "The quality of the data, and the cost of measuring. None: not recorded.",
        lambda quality: ": ".join(filter(None, [quality.verdict, quality.verdict_reason])),
    )
