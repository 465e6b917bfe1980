"""Power and energy from Nsight Compute's counters, or from other features of kernels (docs/estimate.md)."""

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
    """One kernel of the file. Figures that are not known are None, and `reason` says why.

    Attributes
    ----------
    id : int
        ncu's number of the kernel.
    kernel : str
        Name of the kernel.
    duration_s : float or None
        Duration of one launch at `clock_mhz`, seconds.
    power_w, power_low_w, power_high_w : float or None
        Watts, with the ends of the 90 % interval; the lower end allows for constant data.
    energy_j, energy_low_j, energy_high_j : float or None
        Joules of one launch, with the ends of the 90 % interval.
    launches : int
        Number of launches in the row: more than one in a summary of ncu.
    line : int
        Line of the file.
    process_id : int
        Process; 0: not in the file.
    process, device, grid, block : str
        As in the file; "": not there.
    ncu_duration_s, ncu_clock_mhz : float or None
        Duration (seconds) and clock (MHz) under ncu.
    clock_mhz : float or None
        Clock that the figures are for, MHz.
    beyond_w, missing_w : float or None
        Part of the power outside the range of the model's training set, and part that is guessed for missing counters.
    extrapolated : bool
        Whether the model was not learnt at this clock or on this board.
    reason : str
        Why there is no figure; "" if there is one.
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
        In the order of the file.
    totals : dict
        `power_min_w`, `power_avg_w`, `power_peak_w`, `kernels_energy_j`, `program_energy_j`, each with `_low_` and
        `_high_` before its unit, `kernels_s`, `program_s`, `idle_s`, `launches` and others (docs/schema).
    parts : dict
        Joules of the kernels by part of the chip; "base" is the rest, without any counter.
    notes : list of str
        Sentences that a reader of these figures must know.
    board, model : str
        Board on which the model was learnt, and origin of the model.
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
            One row per kernel, one column per field of `EstimatedKernel`.

        Raises
        ------
        ImportError
            Without pandas.
        """
        return frame(EstimatedKernel, self.rows)


def _number(what: str, value: float | None) -> float:
    """Return a positive number; None becomes 0, the core's default."""
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
    """Estimate the power and energy of kernels from Nsight Compute's counters.

    Parameters
    ----------
    csv : path
        Output of `ncu --csv --page raw` (or details); or features, for a model of `train`.
    model : path or str, optional
        A board model (`joulemap calibrate`, `joulemap.calibration.learn_model`), a trained model (`train`), or the name
        of a shipped one ("h100", "h200"). The default is the model that `joulemap calibrate` has saved for the file's
        board, else the shipped one for its product; `notes` say which and why.
    clock_mhz : float, optional
        Clock of the multiprocessors to estimate for, MHz. The default is their clock without ncu.
    program_s : float, optional
        Duration of the program, seconds: gaps between kernels count as idle.
    limit_w : float, optional
        Power limit of the board, watts, which bounds the mean over all kernels; `math.inf`: no limit. The default is
        the board's usual limit.
    kind : str, optional
        Estimate for another board with the same chip: "h100", "h200", "h100-pcie", "h100-nvl". Figures are then marked
        `extrapolated`. The default is the board of the file.

    Returns
    -------
    Estimate
        A row per kernel in W, J and s, with 90 % intervals; docs/estimate.md derives them.

    Raises
    ------
    TypeError, ValueError
        If an argument is wrong.
    joulemap.Error
        If the file is no table of ncu (the message has file and line), or there is no model for its chip.
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
    result = json.loads(text)
    rows = [EstimatedKernel(**row) for row in result.pop("rows")]
    parts = {part["name"]: part["energy_j"] for part in result.pop("parts")}
    notes, board, model_origin = (result.pop(key) for key in ("notes", "board", "model"))
    return Estimate(rows, totals=result, parts=parts, notes=notes, board=board, model=model_origin)


def train(
    features: str | os.PathLike[str],
    power: str | os.PathLike[str] | None = None,
    path: str | os.PathLike[str] | None = None,
) -> dict[str, Any]:
    """Learn a power model of any chip from features of kernels and their watts.

    Parameters
    ----------
    features : path
        CSV: `kernel,[family,][duration_s,][power_w,]FEATURE...`; each feature is a rate, a duty cycle or a percentage.
    power : path, optional
        CSV: `kernel,power_w[,u_w]`, watts. The default is the column `power_w` of the features.
    path : path, optional
        File to write the model to, for `estimate`.

    Returns
    -------
    dict
        As in `joulemap estimate --train --json`: the model, `error_by_kernel` and `error_by_family` (relative errors of
        nested cross-validation), `notes` on features that the data cannot separate, and `rows`.

    Raises
    ------
    joulemap.Error
        If a file is no such table (the message has file and line), or there are too few kernels.
    TypeError
        If an argument is no path.
    """
    result: dict[str, Any] = json.loads(
        _core.train(
            _arguments.path("features", features),
            None if power is None else _arguments.path("power", power),
            None if path is None else _arguments.path("path", path),
        )
    )
    return result


def profile(
    command: Sequence[str],
    csv: str | os.PathLike[str],
    *,
    model: str | os.PathLike[str] | None = None,
    timeout_s: float | None = None,
    arguments: Sequence[str] = (),
) -> None:
    """Run a program under Nsight Compute with the metrics that a model needs, and save them as CSV.

    ncu is searched on `PATH`, in `CUDA_HOME`, `/usr/local/cuda*` and `/opt/nvidia/nsight-compute`. Clocks and caches
    are not controlled.

    Parameters
    ----------
    command : list of str
        The program and its arguments.
    csv : path
        File to write, for `estimate`.
    model : path or str, optional
        Model whose counters are needed, as in `estimate`.
    timeout_s : float, optional
        End the program after this time, seconds.
    arguments : list of str
        Arguments for ncu: `["--launch-count", "100"]`.

    Raises
    ------
    TypeError, ValueError
        If an argument is wrong, or `command` is empty.
    joulemap.Error
        If ncu is missing or may not read counters, no kernel was profiled, or after the timeout; with the cure.
    """
    argv, options = list(command), list(arguments)
    for text in argv + options:
        _arguments.text("an argument", text)
    if not argv:
        raise ValueError("command is empty")
    _core.estimate_profile(
        argv,
        _arguments.path("csv", csv),
        "raw",
        None if model is None else _arguments.path("model", model),
        _number("timeout_s", timeout_s),
        options,
    )
