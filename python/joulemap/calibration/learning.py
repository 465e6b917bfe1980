"""Models of boards: what hardware counters are worth, in watts."""

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
    """What was learnt, and how well it predicts the powers of kernels.

    Errors are relative (0.05: 5 %), of models that were learnt without the family of the kernel.

    Attributes
    ----------
    board : str
        Name of the GPU.
    simulated : bool
        True for the simulated board.
    path : str or None
        File of the model; None if it was not written.
    features, kernels, families : int
        Counters with a weight, kernels whose power is known, families of them.
    left_out : int
        Kernels on constant data, which are not in the weights.
    readings, readings_used : int
        Of the power sensor, and how many of them were no outliers.
    residual_w : float
        Root mean square of readings less model, W.
    median_error, mean_error, p95_error : float
        Of the powers of kernels.
    worst_error : float
        Root mean square over the kernels of the worst family.
    worst_family : str
        Its name; "" if there is none.
    idle_w, idle_u_w : float or None
        What the GPU draws at rest for longer than 20 ms with a program on it, W, and its standard uncertainty; None if
        the recording does not show it.
    gap_w, gap_u_w : float or None
        The same in gaps of 1 to 20 ms.
    noise_w : float or None
        Standard deviation of a reading of the power sensor at rest, W, drift aside; None likewise.
    sampler_w, sampler_u_w : float or None
        What sampling its hardware counters makes the GPU draw, W, and its standard uncertainty; None likewise.
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
    """Learn what hardware counters are worth from a recording of single kernels in bursts, and keep it.

    `joulemap calibrate` does all of it: it plays and records such kernels, and learns from them.

    Parameters
    ----------
    recording_path : path
        A recording with hardware counters and a power sensor.
    phase : str
        A phase of it. In it each burst of one kernel is a span of kind `window`, named ``FAMILY/what``.
    path : path, optional
        File to write. Without it the model is kept by the GPU's UUID, where reports of that GPU find it
        (``$XDG_DATA_HOME/joulemap/models``); one of a simulated board is not written then.
    gpu : int, str or torch.device, optional
        The GPU, as in `Recording.report`; without it the one that has counters.

    Returns
    -------
    Learnt
        How well powers are predicted, and where the model is.

    Raises
    ------
    Error
        status "NOT_FOUND": no such file, phase, GPU, counters or sensor; "BAD_DATA": they are too few; "IO":
        the model cannot be written.
    TypeError, ValueError
        If an argument is none of these.
    """
    recording = _arguments.path("recording_path", recording_path)
    kept = None if path is None else _arguments.path("path", path)
    phase = _arguments.text("phase", phase)
    number = 0 if gpu is None else board_id(_core.Recording(recording), _arguments.gpu("gpu", gpu))
    return Learnt(**_core.learn_model(recording, phase, kept, number))
