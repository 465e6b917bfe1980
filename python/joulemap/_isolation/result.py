"""The result of `isolate`: the energy of a call of each layer, with its interval."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator
from dataclasses import dataclass
from io import StringIO
from typing import TYPE_CHECKING, overload

from joulemap._csv import cell
from joulemap._report import frame, written

if TYPE_CHECKING:
    import pandas as pd

_U_OF_HALF = 1.959964  # half-width of a 95 % interval in standard uncertainties


@dataclass(frozen=True)
class IsolatedLayer:
    """One layer in isolation, in one direction.

    Attributes
    ----------
    path, type : str
        The module's path, and its class with sizes, as `Session.watch` names them.
    direction : str
        "forward" or "backward".
    calls : int
        Number of calls of the layer in one pass of the model. The figures are those of the first call.
    energy_j, energy_low_j, energy_high_j : float
        Joules of a call, and the ends of the 95 % interval, without the uncertainty of the GPU's sensor gain.
    call_s : float
        Seconds of a call.
    clock_mhz : float or None
        Mean clock during calls, MHz; None if not recorded.
    gap_w : float
        Watts in the gaps between bursts.
    how : str
        "graph", or "calls" if the layer cannot be captured in a CUDA graph (launch gaps then count as its time); and
        what was subtracted.
    """

    path: str
    type: str
    direction: str
    calls: int
    energy_j: float
    energy_low_j: float
    energy_high_j: float
    call_s: float
    clock_mhz: float | None
    gap_w: float
    how: str

    @property
    def u_j(self) -> float:
        """Standard uncertainty of `energy_j`, joules."""
        return (self.energy_high_j - self.energy_low_j) / 2 / _U_OF_HALF


_COLUMNS = [
    "path",
    "type",
    "direction",
    "energy_j",
    "u_j",
    "call_s",
    "clock_mhz",
    "calls",
    "energy_low_j",
    "energy_high_j",
    "gap_w",
    "how",
]


@dataclass(frozen=True)
class IsolatedLayers:
    """The chosen layers, each in isolation.

    Attributes
    ----------
    rows : list of IsolatedLayer
        In the order of the model's modules; forward before backward.
    left_out : dict
        Why a layer has no row, by path.
    simulated : bool
        Whether the board was simulated.
    """

    rows: list[IsolatedLayer]
    left_out: dict[str, str]
    simulated: bool = False

    def __iter__(self) -> Iterator[IsolatedLayer]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def table(self) -> str:
        """Return a table as text, followed by the layers that were left out.

        Returns
        -------
        str
            A line per layer and direction: mJ with the half-width of the 95 % interval, us, W, MHz.
        """
        width = max([len("layer"), *(len(row.path) for row in self.rows)])
        head = f"{'energy of a call':>22} {'time':>11} {'power':>7} {'MHz':>5} {'calls':>6}  how"
        lines = [f"{'layer':{width}} {'':8} {head}"]
        for row in self.rows:
            half_j = (row.energy_high_j - row.energy_low_j) / 2
            energy = f"{1e3 * row.energy_j:.3f} ±{1e3 * half_j:.3f} mJ"
            power = f"{row.energy_j / row.call_s:.0f} W" if row.call_s > 0 else "-"
            clock = "-" if row.clock_mhz is None else f"{row.clock_mhz:.0f}"
            lines.append(
                f"{row.path:{width}} {row.direction:8} {energy:>22} {1e6 * row.call_s:8.1f} us {power:>7} {clock:>5} "
                f"{row.calls:6d}  {row.how}"
            )
        lines += [f"left out: {path}: {why}" for path, why in self.left_out.items()]
        if self.simulated:
            lines.append("The GPU is simulated: these joules were never drawn from a wall.")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.table()

    def to_pandas(self) -> pd.DataFrame:
        """Return the rows as a pandas DataFrame.

        Returns
        -------
        pandas.DataFrame
            One row per row, one column per field of `IsolatedLayer`.

        Raises
        ------
        ImportError
            Without pandas.
        """
        return frame(IsolatedLayer, self.rows)

    @overload
    def to_csv(self, path: None = None) -> str: ...
    @overload
    def to_csv(self, path: str | os.PathLike[str]) -> None: ...

    def to_csv(self, path: str | os.PathLike[str] | None = None) -> str | None:
        """Write the rows as CSV: path, type, direction, energy_j, u_j, call_s, clock_mhz, ...; empty if missing.

        `joulemap report --prior` accepts the file.

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
        text = StringIO()
        writer = csv.writer(text)
        writer.writerow(_COLUMNS)
        for row in self.rows:
            writer.writerow([cell(getattr(row, column)) for column in _COLUMNS])
        return written(text.getvalue(), path)
