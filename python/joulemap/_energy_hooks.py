"""The base of callbacks for training frameworks: arguments, reports, hooks that never fail the training."""

from __future__ import annotations

import functools
import os
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from joulemap._core import Error
from joulemap._session import Session
from joulemap._training import Training

if TYPE_CHECKING:
    import torch
    from typing_extensions import Self

    from joulemap._report import Report


def rank_by_environment() -> tuple[int, int]:
    """Return `rank` and `processes` of `Training.enter` from the variables of torchrun."""
    return int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))


HookT = TypeVar("HookT", bound=Callable[..., Any])


def harmless(hook: HookT) -> HookT:
    """Decorate a framework's hook: an error becomes one warning, and measuring ends; the training goes on."""

    @functools.wraps(hook)
    def call(self: EnergyHooks, *args: Any, **kwargs: Any) -> Any:
        if self._training.broken:
            return None
        try:
            return hook(self, *args, **kwargs)
        except Exception as error:
            self._training.fail(error)
            return None

    return call  # type: ignore[return-value]


class EnergyHooks:
    """The base class of the callbacks of all frameworks.

    Parameters
    ----------
    path : path, optional
        Recording file, written during the training; without it the recording is in memory.
    session : Session, optional
        The session to measure in. Without it the open session, else one of its own. That one stays open for reports
        and further trainings, until `close` or the end of the program.
    overwrite : bool
        Replace an existing file.
    gpu : int, str or torch.device, optional
        The GPU whose joules are logged, as in `Session.report`; all GPUs without it.
    log : bool
        Write joules to the framework's own log.

    Raises
    ------
    TypeError, ValueError
        If an argument is none of these.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        session: Session | None = None,
        overwrite: bool = False,
        gpu: int | str | torch.device | None = None,
        log: bool = True,
    ) -> None:
        super().__init__()
        self._training = Training(path, session, overwrite, gpu, log)

    @property
    def session(self) -> Session:
        """The session that it measures in.

        Raises
        ------
        RuntimeError
            Before the first training, and in processes that measure nothing.
        """
        if self._training.session is None:
            raise RuntimeError(
                "nothing was measured: no training has begun in this process, or no session could be opened"
            )
        return self._training.session

    def report(self, by: str = "layer", phase: str | None = None, **options: Any) -> Report:
        """Report on the measurement so far.

        Parameters
        ----------
        by : str
            Key of the rows, as in `Session.report`.
        phase : str, optional
            Only what happened inside phases of this name; all without it.
        **options
            As in `Session.report`: `gpu`, `from_ns`, ...

        Returns
        -------
        Report
            Its rows, totals and notes.

        Raises
        ------
        RuntimeError
            Before the first training, and in processes that measure nothing.
        TypeError, ValueError
            If an argument is none of these.
        Error
            If there is no such phase or GPU.
        """
        return self.session.report(by, phase, **options)

    def close(self) -> None:
        """End the session if it is the callback's own, and complete its file. Reports can still be made.

        Raises
        ------
        Error
            If the recording could not be completed.
        """
        self._training.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.close()
        except Error as error:  # a full disk, say: must not keep the program from saving its model
            warnings.warn(str(error), RuntimeWarning, stacklevel=2)
