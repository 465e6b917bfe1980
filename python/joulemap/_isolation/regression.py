"""Energy of a call from windows of bursts: E = calls x e + gap time x P_gap + bursts x e_edge, by least squares.

Each round of windows has its own gap power, as the board gets warmer; the energy of a call is common to all. The last
term is the extra energy at the begin of a gap: an H200 draws 165 W in the first millisecond, and 140 W after that.
Without this term e is 0.3 % (at 900 W) to 0.8 % (at 300 W) too high, which the intervals do not cover.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

Vector = list[float]
Matrix = list[Vector]

# Student's t, 97.5 %, by degrees of freedom from 1 (Abramowitz and Stegun, table 26.10).
_STUDENT = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
]  # fmt: skip
_NORMAL = 1.959964


@dataclass(frozen=True)
class Window:
    """A window of bursts.

    Attributes
    ----------
    calls : float
        Number of calls.
    bursts : int
        Number of bursts.
    gap_s : float
        Seconds between bursts.
    energy_j, u_j : float
        Energy of the board and its standard uncertainty, joules.
    series : int
        Number of the round; windows of a round share a gap power.
    """

    calls: float
    bursts: int
    gap_s: float
    energy_j: float
    u_j: float
    series: int


@dataclass(frozen=True)
class Estimate:
    """Energy of a call and half-width of its 95 % interval, J, and power of the gaps, W."""

    energy_j: float
    half_j: float
    gap_w: float


def student_95(freedom: int) -> float:
    """Return the two-sided 95 % quantile of Student's t for at least one degree of freedom."""
    if freedom <= len(_STUDENT):
        return _STUDENT[freedom - 1]
    # First term of its expansion (Abramowitz and Stegun 26.7.5): error below 0.003 from 21 on.
    return _NORMAL + (_NORMAL**3 + _NORMAL) / (4 * freedom)


def estimate(windows: Sequence[Window]) -> Estimate | None:
    """Return the energy of a call; None if there are too few windows, or all have the same duty cycle.

    The windows' uncertainties give the weights; the residuals give the scale of the errors.
    """
    series = sorted({window.series for window in windows})
    unknowns = 2 + len(series)
    freedom = len(windows) - unknowns
    if freedom < 1:
        return None
    rows = [[float(w.calls), float(w.bursts), *(w.gap_s if w.series == s else 0.0 for s in series)] for w in windows]
    weights = [1 / max(w.u_j, 1e-12) ** 2 for w in windows]
    energies = [w.energy_j for w in windows]
    normal = [[_dot(weights, rows, i, j) for j in range(unknowns)] for i in range(unknowns)]
    right = [sum(w * row[i] * e for w, row, e in zip(weights, rows, energies, strict=True)) for i in range(unknowns)]
    inverse = _invert(normal)
    if inverse is None:
        return None
    found = [sum(a * b for a, b in zip(line, right, strict=True)) for line in inverse]
    residuals = [e - sum(a * x for a, x in zip(row, found, strict=True)) for row, e in zip(rows, energies, strict=True)]
    variance = sum(w * r * r for w, r in zip(weights, residuals, strict=True)) / freedom
    error_j = math.sqrt(max(0.0, variance * inverse[0][0]))
    return Estimate(found[0], student_95(freedom) * error_j, sum(found[2:]) / len(series))


def _dot(weights: Vector, rows: Matrix, i: int, j: int) -> float:
    return sum(w * row[i] * row[j] for w, row in zip(weights, rows, strict=True))


def _invert(matrix: Matrix) -> Matrix | None:
    """Return the inverse of a symmetric positive matrix by Gauss-Jordan with scaled rows; None if it is singular."""
    size = len(matrix)
    scale = [math.sqrt(matrix[i][i]) for i in range(size)]
    if min(scale) <= 0:
        return None
    work = [
        [matrix[i][j] / (scale[i] * scale[j]) for j in range(size)] + [float(i == j) for j in range(size)]
        for i in range(size)
    ]
    for i in range(size):  # diagonal pivots are enough for a positive matrix
        pivot = work[i][i]
        if pivot < 1e-12:
            return None
        work[i] = [value / pivot for value in work[i]]
        for k in range(size):
            if k != i:
                factor = work[k][i]
                work[k] = [a - factor * b for a, b in zip(work[k], work[i], strict=True)]
    return [[work[i][size + j] / (scale[i] * scale[j]) for j in range(size)] for i in range(size)]
