"""TensorBoard: scalars, texts and images through a SummaryWriter, of PyTorch, tensorboardX or TensorFlow."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from joulemap import _arguments
from joulemap.sinks._final import PICTURES, Final, pixels
from joulemap.sinks._sink import Logger, Sink

if TYPE_CHECKING:
    import torch

    from joulemap._recording import Recording
    from joulemap._session import Session

_WRITERS = {"torch": "torch.utils.tensorboard", "tensorboardX": "tensorboardX"}


def log_to_tensorboard(
    run: Session | Recording,
    writer: Any,
    *,
    every: int | None = None,
    seconds: float | None = None,
    step: Callable[[], int] | None = None,
    gpu: int | str | torch.device | None = None,
    figures: Iterable[str] = PICTURES,
) -> Sink:
    """Log the joules of a run to TensorBoard.

    Parameters
    ----------
    run : Session or Recording
        A session that runs is followed until it stops; of another one, or a recording, its report is logged at once.
    writer : SummaryWriter, tf.summary.SummaryWriter or path
        What `torch.utils.tensorboard.SummaryWriter`, tensorboardX or `tf.summary.create_file_writer` gave, which stays
        open; or a folder, for which one is made.
    every : int, optional
        Log each so many steps; 10 without it and `seconds`.
    seconds : float, optional
        Log each so many seconds instead: also a program that has no steps.
    step : callable, optional
        Gives the number of the step that has just ended, as your other scalars have it. Without it steps are counted
        from 1 (where there are none, seconds).
    gpu : int, str or torch.device, optional
        One GPU, as in `Session.report`; without it all boards.
    figures : iterable of str
        Keys of `joulemap.plots.figures()` to draw at the end, where Matplotlib is there.

    Returns
    -------
    Sink
        Its `close()` ends it before the session does.

    Raises
    ------
    TypeError, ValueError
        If an argument is none of these.
    ImportError
        For a folder: without PyTorch and TensorBoard, tensorboardX and TensorFlow.
    """
    logger = _logger(writer)
    return Sink(run, logger, every=every, seconds=seconds, step=step, gpu=gpu, figures=figures)


def _logger(writer: Any) -> Logger:
    if hasattr(writer, "add_scalar"):
        return _Summary(writer, is_ours=False)
    if hasattr(writer, "as_default"):
        return _TensorFlow(writer, is_ours=False)
    try:
        folder = _arguments.path("writer", writer)
    except TypeError:
        raise TypeError(f"writer is a SummaryWriter or a folder, not {writer!r} ({type(writer).__name__})") from None
    return _open(folder)


def _open(folder: str | os.PathLike[str]) -> Logger:
    """Make a writer of what the program has loaded already, else of the first that is installed."""
    order = sorted((*_WRITERS, "tensorflow"), key=lambda name: name not in sys.modules)
    for name in order:
        try:
            module: Any = importlib.import_module(_WRITERS.get(name, name))
        except ImportError:
            continue
        if name == "tensorflow":
            return _TensorFlow(module.summary.create_file_writer(folder), is_ours=True)
        return _Summary(module.SummaryWriter(folder), is_ours=True)
    raise ImportError("TensorBoard's files need a writer: pip install tensorboard torch, or tensorboardX")


def _markdown(text: str) -> str:
    """Return text as it is, in TensorBoard's Markdown: each column under its head."""
    return "".join(f"    {line}\n" for line in text.splitlines())


def _texts(told: Final) -> dict[str, str]:
    return {**told.words(), "joulemap/layers": _markdown(told.table())}


class _Writer:
    """What writers have in common: ours is closed, another's stays open."""

    name = "TensorBoard"

    def __init__(self, writer: Any, *, is_ours: bool) -> None:
        self._writer = writer
        self._is_ours = is_ours

    def close(self) -> None:
        if self._is_ours:
            self._writer.close()
        else:
            self._writer.flush()


class _Summary(_Writer):
    """A SummaryWriter of PyTorch or tensorboardX."""

    def scalars(self, values: dict[str, float], number: int, wall_s: float) -> None:
        for name, value in values.items():
            self._writer.add_scalar(name, value, number, walltime=wall_s)

    def final(self, told: Final, number: int) -> None:
        for name, value in told.numbers().items():
            self._writer.add_scalar(name, value, number)
        for name, text in _texts(told).items():
            self._writer.add_text(name, text, number)
        for key, figure in told.pictures():
            self._writer.add_image(f"joulemap/{key}", pixels(figure), number, dataformats="HWC")


class _TensorFlow(_Writer):
    """A writer of tf.summary."""

    def __init__(self, writer: Any, *, is_ours: bool) -> None:
        super().__init__(writer, is_ours=is_ours)
        self._summary: Any = importlib.import_module("tensorflow").summary

    def scalars(self, values: dict[str, float], number: int, wall_s: float) -> None:
        with self._writer.as_default():
            for name, value in values.items():
                self._summary.scalar(name, value, step=number)

    def final(self, told: Final, number: int) -> None:
        with self._writer.as_default():
            for name, value in told.numbers().items():
                self._summary.scalar(name, value, step=number)
            for name, text in _texts(told).items():
                self._summary.text(name, text, step=number)
            for key, figure in told.pictures():
                self._summary.image(f"joulemap/{key}", pixels(figure)[None], step=number)
