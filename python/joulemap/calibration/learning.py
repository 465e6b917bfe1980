"""Board models: the power of each hardware counter."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from joulemap import _arguments, _core
from joulemap._reporting import board_id

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, slots=True)
class Learnt:
    """A learnt board model, and its errors.

    Errors are relative (0.05: 5 %) and cross-validated: the model is learnt without the family of the kernel.

    Attributes
    ----------
    board : str
        Name of the GPU.
    simulated : bool
        True for the simulated board.
    path : str or None
        File of the model; None if it was not written.
    features, kernels, families : int
        Number of counters with a weight, of kernels whose power is known, and of their families.
    left_out : int
        Number of kernels on constant data, which are not in the fit.
    readings, readings_used : int
        Number of readings of the power sensor, and of those that are no outliers.
    residual_w : float
        Root mean square of the residuals of readings, watts.
    median_error, mean_error, p95_error : float
        Errors of the power of kernels.
    worst_error : float
        Root mean square error over the kernels of the worst family.
    worst_family : str
        Name of the worst family; "" if there is none.
    idle_w, idle_u_w : float or None
        Power of the GPU when idle for longer than 20 ms with a CUDA context, and its standard uncertainty, watts; None
        if the recording does not show it.
    gap_w, gap_u_w : float or None
        Power in gaps of 1 to 20 ms, and its standard uncertainty, watts; None if not known.
    noise_w : float or None
        Standard deviation of a reading of the idle GPU's power without drift, watts; None if not known.
    sampler_w, sampler_u_w : float or None
        Additional power while hardware counters are sampled, and its standard uncertainty, watts; None if not known.
    """

    board: str
    simulated: bool
    path: str | None
    features: int
    kernels: int
    families: int
    left_out: int
    readings: int
    readings_used: int
    residual_w: float
    median_error: float
    mean_error: float
    p95_error: float
    worst_error: float
    worst_family: str
    idle_w: float | None
    idle_u_w: float | None
    gap_w: float | None
    gap_u_w: float | None
    noise_w: float | None
    sampler_w: float | None
    sampler_u_w: float | None


def learn_model(
    recording_path: str | os.PathLike[str],
    phase: str,
    *,
    path: str | os.PathLike[str] | None = None,
    gpu: int | str | torch.device | None = None,
) -> Learnt:
    """Learn a board model from a recording of single kernels in bursts, and save it.

    `joulemap calibrate` records such kernels and learns from them.

    Parameters
    ----------
    recording_path : path
        A recording with hardware counters and a power sensor.
    phase : str
        A phase in which each burst of a kernel is a span of kind `window`, named ``FAMILY/what``.
    path : path, optional
        File to write. Without it the model is saved under the GPU's UUID in ``$XDG_DATA_HOME/joulemap/models``, for
        reports of that GPU; the model of a simulated board is then not written.
    gpu : int, str or torch.device, optional
        The GPU, as in `Recording.report`; by default the one with counters.

    Returns
    -------
    Learnt
        The path of the model, and its errors.

    Raises
    ------
    Error
        With the status "NOT_FOUND" if there is no such file, phase, GPU, counters or sensor; "BAD_DATA" if there are
        too few data; "IO" if the model cannot be written.
    TypeError, ValueError
        If an argument is wrong.
    """
    recording = _arguments.path("recording_path", recording_path)
    model_path = None if path is None else _arguments.path("path", path)
    phase = _arguments.text("phase", phase)
    number = 0 if gpu is None else board_id(_core.Recording(recording), _arguments.gpu("gpu", gpu))
    return Learnt(**_core.learn_model(recording, phase, model_path, number))
