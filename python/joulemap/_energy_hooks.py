"""What callbacks of training frameworks are made of: arguments, reports, hooks that never fail the training."""

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
    """Return `rank` and `processes` of `Training.enter` as torchrun and its like tell them."""
    return int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))


HookT = TypeVar("HookT", bound=Callable[..., Any])


def harmless(hook: HookT) -> HookT:
    """Let a hook that a framework calls never fail the training: a warning, once, and it does nothing any more."""

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
    """What the callbacks of all frameworks are made with, and give.

    Parameters
    ----------
    path : path, optional
        Recording file, written as the training goes; in memory without it.
    session : Session, optional
        To measure in; without it the one that is open, else one of its own, which stays open for reports and further
        trainings: until `close`, or the end of the program.
    overwrite : bool
        Replace an existing file.
    gpu : int, str or torch.device, optional
        Which GPU's joules are logged, as in `Session.report`; without it those of all.
    log : bool
        Give joules to the framework's own log.

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
        """What it measures in.

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
        """Report on what was measured so far.

        Parameters
        ----------
        by : str
            Key of the rows, as in `Session.report`.
        phase : str, optional
            Only what happened inside phases of this name; all without it.
        **options
            As of `Session.report`: `gpu`, `from_ns`, ...

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
        """End the session, if it is the callback's own: its file is whole then. Reports can still be made.

        Raises
        ------
        Error
            If the recording could not be written whole.
        """
        self._training.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.close()
        except Error as error:  # a full disk; what the program does after its training is worth more than our file
            warnings.warn(str(error), RuntimeWarning, stacklevel=2)
