"""Power and energy from Nsight Compute's counters, or from features of one's own: docs/estimate.md."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from joulemap import _arguments, _core
from joulemap._report import frame

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["estimate", "profile", "train"]


@dataclass(frozen=True, slots=True)
class EstimatedKernel:
    """One kernel of the file. What is not known is None, and `reason` says why.

    Attributes
    ----------
    id : int
        As ncu counts.
    kernel : str
        Its name.
    duration_s : float or None
        How long one launch takes at `clock_mhz`, s.
    power_w, power_low_w, power_high_w : float or None
        W, and the interval that holds 90 %; its lower end admits constant data.
    energy_j, energy_low_j, energy_high_j : float or None
        Of one launch, J.
    launches : int
        That the row stands for: more than one in a summary of ncu's.
    line : int
        Of the file.
    process_id : int
        0: not said.
    process, device, grid, block : str
        "": not said.
    ncu_duration_s, ncu_clock_mhz : float or None
        As it was profiled.
    clock_mhz : float or None
        That the figures are for.
    beyond_w, missing_w : float or None
        Of the power, what lies beyond what the model was learnt from, and what is a guess for want of counters.
    extrapolated : bool
        To a clock or a board that the model was not learnt at.
    reason : str
        Why there is no figure; "" if there is.
    """

    id: int
    kernel: str
    duration_s: float | None
    power_w: float | None
    power_low_w: float | None
    power_high_w: float | None
    energy_j: float | None
    energy_low_j: float | None
    energy_high_j: float | None
    launches: int
    line: int
    process_id: int
    process: str
    device: str
    grid: str
    block: str
    ncu_duration_s: float | None
    ncu_clock_mhz: float | None
    clock_mhz: float | None
    beyond_w: float | None
    missing_w: float | None
    extrapolated: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Estimate:
    """Power and energy of a program's kernels.

    Attributes
    ----------
    rows : list of EstimatedKernel
        In the file's order.
    totals : dict
        `power_min_w`, `power_avg_w`, `power_peak_w`, `kernels_energy_j`, `program_energy_j`, each with `_low_` and
        `_high_` before its unit, `kernels_s`, `program_s`, `idle_s`, `launches` and others: docs/schema.
    parts : dict
        Where the kernels' energy goes: name to J.
    notes : list of str
        What one should know of these figures.
    board, model : str
        That the model was learnt on; where it is from.
    """

    rows: list[EstimatedKernel]
    totals: dict[str, Any]
    parts: dict[str, float]
    notes: list[str]
    board: str
    model: str

    def to_pandas(self) -> pd.DataFrame:
        """Return the rows as a pandas DataFrame.

        Returns
        -------
        pandas.DataFrame
            A row a kernel, one column a field of `EstimatedKernel`.

        Raises
        ------
        ImportError
            Without pandas.
        """
        return frame(EstimatedKernel, self.rows)


def _number(what: str, value: float | None) -> float:
    """Return 0 for None: the core's "not asked for"."""
    if value is None:
        return 0.0
    if not isinstance(value, (int, float)) or not value > 0:
        raise ValueError(f"{what} is a number above 0, not {value!r}")
    return float(value)


def estimate(
    csv: str | os.PathLike[str],
    *,
    model: str | os.PathLike[str] | None = None,
    clock_mhz: float | None = None,
    program_s: float | None = None,
    limit_w: float | None = None,
    kind: str | None = None,
) -> Estimate:
    """Estimate the power and energy of kernels that Nsight Compute has counted.

    Parameters
    ----------
    csv : path
        What `ncu --csv --page raw` (or details) printed; or features, for a model of `train`.
    model : path or str, optional
        A board's model (`joulemap calibrate`, `joulemap.calibration.learn_model`), a trained one (`train`), or the name
        of a shipped one ("h100", "h200"). Default: what `joulemap calibrate` keeps for the file's board, else what is
        shipped for its kind; `notes` say which and why.
    clock_mhz : float, optional
        For this clock of the multiprocessors. Default: what they run at by themselves.
    program_s : float, optional
        How long the program takes, s: gaps between kernels are counted as idle.
    limit_w : float, optional
        The board's power limit, W, which no mean over all kernels passes; `math.inf`: none. Default: usual on the
        board.
    kind : str, optional
        What if it ran on another kind of board of the same chip: "h100", "h200", "h100-pcie", "h100-nvl". Figures are
        then marked `extrapolated`. Default: on the board of the file.

    Returns
    -------
    Estimate
        A row a kernel in W, J and s, each with an interval of 90 %; docs/estimate.md derives them.

    Raises
    ------
    TypeError, ValueError
        If an argument is none of these.
    joulemap.Error
        If the file is no table of ncu's (it names file and line), or no model is known for its chip.
    """
    limit = math.inf if limit_w == math.inf else _number("limit_w", limit_w)
    text = _core.estimate(
        _arguments.path("csv", csv),
        None if model is None else _arguments.path("model", model),
        _number("clock_mhz", clock_mhz),
        _number("program_s", program_s),
        limit,
        kind,
    )
    told = json.loads(text)
    rows = [EstimatedKernel(**row) for row in told.pop("rows")]
    parts = {part["name"]: part["energy_j"] for part in told.pop("parts")}
    return Estimate(
        rows, parts=parts, notes=told.pop("notes"), board=told.pop("board"), model=told.pop("model"), totals=told
    )


def train(
    features: str | os.PathLike[str],
    power: str | os.PathLike[str] | None = None,
    path: str | os.PathLike[str] | None = None,
) -> dict[str, Any]:
    """Learn a model of any chip from features of kernels and their watts.

    Parameters
    ----------
    features : path
        CSV: `kernel,[family,][duration_s,][power_w,]FEATURE...`; a rate, a duty cycle or a percentage each.
    power : path, optional
        CSV: `kernel,power_w[,u_w]`, watts. Default: a column `power_w` of the features.
    path : path, optional
        File to write the model to, which `estimate` takes.

    Returns
    -------
    dict
        The model, `error_by_kernel` and `error_by_family` (relative, of kernels that it had not seen, by nested
        cross-validation), `notes` on what the data cannot tell apart, and `rows`: `joulemap estimate --train --json`.

    Raises
    ------
    joulemap.Error
        If a file is no such table (it names file and line), or there are too few kernels.
    TypeError
        If an argument is no path.
    """
    found: dict[str, Any] = json.loads(
        _core.train(
            _arguments.path("features", features),
            None if power is None else _arguments.path("power", power),
            None if path is None else _arguments.path("path", path),
        )
    )
    return found


def profile(
    command: Sequence[str],
    csv: str | os.PathLike[str],
    *,
    model: str | os.PathLike[str] | None = None,
    timeout_s: float | None = None,
    arguments: Sequence[str] = (),
) -> None:
    """Run a program under Nsight Compute, with the few metrics that a model needs, and keep them as CSV.

    ncu is found on `PATH`, in `CUDA_HOME`, `/usr/local/cuda*` and `/opt/nvidia/nsight-compute`. It leaves clocks and
    caches as they are.

    Parameters
    ----------
    command : list of str
        The program and its arguments.
    csv : path
        To write; `estimate` reads it.
    model : path or str, optional
        Whose counters; as in `estimate`.
    timeout_s : float, optional
        End it after so many seconds.
    arguments : list of str
        For ncu: `["--launch-count", "100"]`.

    Raises
    ------
    TypeError, ValueError
        If an argument is none of these, or `command` is empty.
    joulemap.Error
        If there is no ncu, it may not read counters, no kernel was profiled, or time is out; with the cure.
    """
    words, options = list(command), list(arguments)
    for word in words + options:
        _arguments.text("an argument", word)
    if not words:
        raise ValueError("command is empty")
    _core.estimate_profile(
        words,
        _arguments.path("csv", csv),
        "raw",
        None if model is None else _arguments.path("model", model),
        _number("timeout_s", timeout_s),
        options,
    )
