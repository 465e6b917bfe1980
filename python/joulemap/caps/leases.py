"""A lease on a GPU's power cap: at its end the old cap is restored, however the program ends."""

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
        The GPU at the begin of the lease; `found.cap_w` is restored.
    cap_w : float or None
        The cap that was set last, watts; None: none yet.
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
            The limit that the GPU enforces from now on, watts; None: the driver does not report it.

        Raises
        ------
        TypeError, ValueError
            If `cap_w` is no positive number.
        joulemap.Error
            If it is out of the GPU's range, the lease has ended (after its time, or by a reset), or the GPU is gone.
        """
        requested_w = _arguments.real("cap_w", cap_w, 0, 1e6)
        enforced_w = self._core.set(requested_w)
        self.cap_w = requested_w
        return enforced_w

    def clock(self, mhz: float | None) -> None:
        """Limit the SM clock.

        NVML does not report earlier limits, so the end of a lease that has set one removes all limits.

        Parameters
        ----------
        mhz : float or None
            The maximum clock, MHz; None removes the limit.

        Raises
        ------
        TypeError, ValueError
            If `mhz` is no positive number.
        joulemap.Error
            If this GPU's clock cannot be limited, or this user may not.
        """
        self._core.clock(0.0 if mhz is None else _arguments.real("mhz", mhz, 0, 1e5))

    def put_back(self) -> None:
        """Restore the cap that was found; the lease goes on.

        Raises
        ------
        joulemap.Error
            If the lease has ended, or the GPU is gone.
        """
        if self.cap_w is not None and self.found.cap_w is not None:
            self._core.set(self.found.cap_w)
            self.cap_w = None

    def end(self) -> None:
        """Restore the cap that was found, wait for that, and end the lease. A `with` block calls it.

        Raises
        ------
        joulemap.Error
            If the cap could not be restored; the message says why, and the cure.
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
    """Return the index in nvidia-smi of a GPU, which may be given by CUDA's index ("cuda:0") or its UUID.

    Raises
    ------
    TypeError, ValueError
        If `gpu` is none of these.
    joulemap.NoDeviceError
        If there is no such GPU.
    """
    named = _arguments.gpu("gpu", gpu)
    if not named.uuid and not named.is_cuda:
        return named.number
    for one in boards():
        if one.kind == "gpu" and (one.uuid == named.uuid if named.uuid else one.cuda_index == named.number):
            return one.index
    raise _core.NoDeviceError(f"there is no GPU {named} here: joulemap.caps.show() lists the GPUs")


def lease(
    gpu: int | str | torch.device = 0,
    *,
    who: str | None = None,
    for_s: float | None = None,
    sim: str | None = None,
) -> Lease:
    """Take a lease on a GPU's power cap. This sets nothing yet; the old cap is restored when the lease ends.

    The lease ends with its `with` block, by `end()`, with the program (also after kill -9), and after `for_s`. A helper
    process restores the old cap. Only one program at a time can have the lease.

    Parameters
    ----------
    gpu : int, str or torch.device
        Index in nvidia-smi, CUDA's index as "cuda:0", or UUID ("GPU-...").
    who : str, optional
        Name of the holder, shown to others; by default the command.
    for_s : float, optional
        Time after which the lease ends by itself, seconds.
    sim : str, optional
        As in `show`.

    Returns
    -------
    Lease
        For `with`; its `set(cap_w)` sets the cap.

    Raises
    ------
    TypeError, ValueError
        If an argument is wrong.
    joulemap.NoDeviceError
        If there is no GPU with this CUDA index or UUID.
    joulemap.Error
        If another program has the lease (`status` is "BUSY"; the message names it), this user may not set caps (the
        message says how to get the right), the cap cannot be set, or there is no GPU with this index.

    Examples
    --------
    >>> with joulemap.caps.lease() as cap:  # doctest: +SKIP
    ...     cap.set(400)
    ...     train()
    """
    holder = None if who is None else _arguments.text("who", who)
    if sim is not None:
        sim = _arguments.text("sim", sim)
    for_ns = 0 if for_s is None else round(1e9 * _arguments.real("for_s", for_s, 0, _MOST_S))
    session = current_session()
    run_dir = None if session is None else session.environment().get("JOULEMAP_RUN")  # the run of a simulated GPU
    if sim is None and session is not None:
        sim = session._options.sim
    return Lease(_core.Lease(nvml_index(gpu), sim, holder, for_ns, run_dir))
