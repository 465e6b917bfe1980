"""`joulemap.measure`: the joules of a block, in the open session or in one for as long as it takes."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any

from joulemap import _arguments, _core
from joulemap._frameworks import frameworks
from joulemap._gpu import synchronize
from joulemap._reporting import board_id
from joulemap._scope import WINDOW, Scope
from joulemap._session import joined_session
from joulemap._shared_session import shared

if TYPE_CHECKING:
    import torch
    from typing_extensions import Self


class Measure(Scope):
    """A window that brings its own session if none is open, and waits for the GPUs at both ends.

    `joulemap.measure` makes it. `joules`, `interval`, `seconds`, `watts` and `print` have its figures.
    """

    __slots__ = ("_gpu", "_holds")
    _gpu: int | str | torch.device | None
    _holds: bool

    def begin(self) -> Self:
        """Wait for earlier work of the GPUs, and begin.

        Returns
        -------
        Measure
            Itself.

        Raises
        ------
        RuntimeError
            If it is open.
        NoDeviceError, Error
            As `measure` says.
        """
        if self._holds:
            raise RuntimeError("this measure is open already: end it first, or make another")
        if os.environ.get("JOULEMAP_RUN"):
            with contextlib.suppress(_core.Error):  # the recorder has ended: it is measured all the same
                joined_session()
        self._session = shared.hold(kernels=False)
        self._holds = True
        try:
            if self._gpu is not None:
                board_id(self._session._started(), _arguments.gpu("gpu", self._gpu))
            frameworks.update()
            synchronize()
            return super().begin()
        except BaseException:
            self._release()
            raise

    def end(self) -> None:
        """Wait for the work of the GPUs, and end; does nothing if it is not open."""
        if not self._holds:
            return
        try:
            synchronize()
        finally:
            super().end()
            self._release()

    def __enter__(self) -> Self:
        return self.begin()

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None:
        if exc_type is None:
            self.end()
            return
        try:  # the program's own exception matters more than work that still runs
            super().__exit__(exc_type, exc, traceback)
        finally:
            self._release()

    def __call__(self, function: Callable[..., Any]) -> Any:
        """Raise TypeError: a measure has the figures of one block, and a function has many calls."""
        raise TypeError(
            "a measure is not a decorator: `run.window(name)` of a Session is one, with a row for all calls"
        )

    def _release(self) -> None:
        if self._holds:
            self._holds = False
            shared.release(self._session)

    def _gpu_of(self, gpu: int | str | torch.device | None) -> int | str | torch.device | None:
        return self._gpu if gpu is None else gpu


def measure(name: str = "measure", *, gpu: int | str | torch.device | None = None) -> Measure:
    """Measure a block: its joules with their 95 % interval, its seconds and its mean power.

    In an open Session, and under `joulemap run`, the block is a window of it. Otherwise a session of its own reads the
    sensors for as long as the block takes; it traces no kernels. Measures may be nested, and may overlap with `begin`
    and `end`. GPUs of PyTorch and JAX are waited for at both ends, so that the block contains the work it launched.

    Parameters
    ----------
    name : str
        Its name in the rows of reports.
    gpu : int, str or torch.device, optional
        Only this GPU, as in `Session.report`. Without it all GPUs, and the CPU if this user may read its energy.

    Returns
    -------
    Measure
        For `with`, or through `begin` and `end`.

    Raises
    ------
    TypeError, ValueError
        If `name` is no text, or `gpu` names none.
    NoDeviceError
        On begin, if there is no board, real or simulated.
    Error
        On begin, if there is no such GPU, or the session cannot be started.

    Examples
    --------
    >>> with joulemap.measure() as m:  # doctest: +SKIP
    ...     train(model)
    >>> print(m)  # doctest: +SKIP
    12.34 ±0.21 J in 0.52 s, 23.7 W (GPU 0)
    >>> m.joules, m.interval, m.seconds, m.watts  # doctest: +SKIP
    """
    if callable(name):
        raise TypeError("measure() takes a name: write `with joulemap.measure() as m:` around the call of the function")
    made = Measure(WINDOW, _arguments.text("the name of a measure", name))
    if gpu is not None:
        _arguments.gpu("gpu", gpu)
    made._gpu, made._type, made._holds = gpu, "", False
    return made
