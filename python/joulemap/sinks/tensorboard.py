"""TensorBoard: scalars, texts and images through a SummaryWriter of PyTorch, tensorboardX or TensorFlow."""

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
        A running session is followed until it stops. For others, or a recording, the report is logged at once.
    writer : SummaryWriter, tf.summary.SummaryWriter or path
        A writer of `torch.utils.tensorboard.SummaryWriter`, tensorboardX or `tf.summary.create_file_writer`, which
        stays open; or a folder for a new writer.
    every : int, optional
        Log after this many steps; the default is 10, if `seconds` is not given.
    seconds : float, optional
        Log at this interval instead, seconds; also works for a program without steps.
    step : callable, optional
        Returns the number of the step that has just ended, as in your other scalars. By default steps are counted from
        1, or seconds if there are no steps.
    gpu : int, str or torch.device, optional
        One GPU, as in `Session.report`; all boards without it.
    figures : iterable of str
        Keys of `joulemap.plots.figures()` to plot at the end, if Matplotlib is installed.

    Returns
    -------
    Sink
        A handle; its `close()` ends logging before the session ends.

    Raises
    ------
    TypeError, ValueError
        If an argument is wrong.
    ImportError
        For a folder: if none of PyTorch with TensorBoard, tensorboardX and TensorFlow is installed.
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
    """Open a writer of a package that is imported already, else of the first one that is installed."""
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
    """Return text as a code block in TensorBoard's Markdown, so that columns stay aligned."""
    return "".join(f"    {line}\n" for line in text.splitlines())


def _texts(summary: Final) -> dict[str, str]:
    return {**summary.texts(), "joulemap/layers": _markdown(summary.table())}


class _Writer:
    """A writer; one that the program opened is not closed."""

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

    def final(self, summary: Final, number: int) -> None:
        for name, value in summary.numbers().items():
            self._writer.add_scalar(name, value, number)
        for name, text in _texts(summary).items():
            self._writer.add_text(name, text, number)
        for key, figure in summary.pictures():
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

    def final(self, summary: Final, number: int) -> None:
        with self._writer.as_default():
            for name, value in summary.numbers().items():
                self._summary.scalar(name, value, step=number)
            for name, text in _texts(summary).items():
                self._summary.text(name, text, step=number)
            for key, figure in summary.pictures():
                self._summary.image(f"joulemap/{key}", pixels(figure)[None], step=number)
