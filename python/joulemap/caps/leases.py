"""A lease on a GPU's power cap: what it sets is put back when it ends, however the program does."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING

from joulemap import _arguments, _core
from joulemap._machine import boards
from joulemap._session import current_session
from joulemap.caps.boards import CapBoard, cap_board

if TYPE_CHECKING:
    import torch
    from typing_extensions import Self

_MOST_S = 1e8


class Lease:
    """A GPU whose cap this program may set until the lease ends; `lease` makes it.

    Attributes
    ----------
    found : CapBoard
        The GPU as it was found: `found.cap_w` is put back.
    cap_w : float or None
        What was set last, W; None: nothing yet.
    """

    def __init__(self, core: _core.Lease) -> None:
        self._core = core
        self.found: CapBoard = cap_board(core.board())
        self.cap_w: float | None = None

    def set(self, cap_w: float) -> float | None:
        """Set the cap.

        Parameters
        ----------
        cap_w : float
            Watts, from `found.low_w` to `found.high_w`.

        Returns
        -------
        float or None
            What the GPU keeps to from now on, W; None: the driver does not say.

        Raises
        ------
        TypeError, ValueError
            If that is no number of watts.
        joulemap.Error
            If it is out of the GPU's range, the lease is over (its time was up, somebody reset it), or the GPU is gone.
        """
        wanted = _arguments.real("cap_w", cap_w, 0, 1e6)
        enforced_w = self._core.set(wanted)
        self.cap_w = wanted
        return enforced_w

    def clock(self, mhz: float | None) -> None:
        """Hold the SM clock at no more than a bound.

        NVML does not say whether a clock was held before: the end of a lease that held one lets go of all bounds.

        Parameters
        ----------
        mhz : float or None
            The bound, MHz; None: let go of it.

        Raises
        ------
        TypeError, ValueError
            If that is no clock.
        joulemap.Error
            If this GPU's clock cannot be held, or may not.
        """
        self._core.clock(0.0 if mhz is None else _arguments.real("mhz", mhz, 0, 1e5))

    def put_back(self) -> None:
        """Set what was found, and go on holding the lease.

        Raises
        ------
        joulemap.Error
            If the lease is over, or the GPU is gone.
        """
        if self.cap_w is not None and self.found.cap_w is not None:
            self._core.set(self.found.cap_w)
            self.cap_w = None

    def end(self) -> None:
        """Put back what was found, and wait until that is done. Once is enough; `with` does it by itself.

        Raises
        ------
        joulemap.Error
            If it could not be put back; it says why, and the cure.
        """
        self._core.end()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.end()


def nvml_index(gpu: int | str | torch.device) -> int:
    """Return the index that nvidia-smi has for a GPU, which may be named as CUDA does ("cuda:0"), or by its UUID.

    Raises
    ------
    TypeError, ValueError
        If it is none of these.
    joulemap.NoDeviceError
        If there is no such GPU.
    """
    meant = _arguments.gpu("gpu", gpu)
    if not meant.uuid and not meant.is_cuda:
        return meant.number
    for one in boards():
        if one.kind == "gpu" and (one.uuid == meant.uuid if meant.uuid else one.cuda_index == meant.number):
            return one.index
    raise _core.NoDeviceError(f"there is no GPU {meant} here: joulemap.caps.show() tells which there are")


def lease(
    gpu: int | str | torch.device = 0,
    *,
    who: str | None = None,
    for_s: float | None = None,
    sim: str | None = None,
) -> Lease:
    """Take a GPU's power cap: nothing is set yet. What is set is put back when the lease ends.

    It ends with `with`, by `end()`, with the program (also killed with -9), and after `for_s`. A process of its own
    holds what was found. One program at a time has a GPU's cap.

    Parameters
    ----------
    gpu : int, str or torch.device
        Index as nvidia-smi counts, CUDA's own as "cuda:0", or UUID ("GPU-...").
    who : str, optional
        What the holder is called, for others that find the GPU taken; without it the command.
    for_s : float, optional
        Seconds after which it ends by itself.
    sim : str, optional
        As of `show`.

    Returns
    -------
    Lease
        For `with`: `set(cap_w)` sets the cap.

    Raises
    ------
    TypeError, ValueError
        If an argument is none of these.
    joulemap.NoDeviceError
        If CUDA has no such GPU, or no GPU has that UUID.
    joulemap.Error
        If another has it (it is named: `status` is "BUSY"), there is no right (how to get it is said), the cap cannot
        be set, or there is no GPU of that index.

    Examples
    --------
    >>> with joulemap.caps.lease() as cap:  # doctest: +SKIP
    ...     cap.set(400)
    ...     train()
    """
    named = None if who is None else _arguments.text("who", who)
    if sim is not None:
        sim = _arguments.text("sim", sim)
    for_ns = 0 if for_s is None else round(1e9 * _arguments.real("for_s", for_s, 0, _MOST_S))
    session = current_session()
    run_dir = None if session is None else session.environment().get("JOULEMAP_RUN")  # whose simulated GPU it is
    if sim is None and session is not None:
        sim = session._options.sim
    return Lease(_core.Lease(nvml_index(gpu), sim, named, for_ns, run_dir))
