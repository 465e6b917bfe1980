"""The lower layer: the present power of a GPU, and a recorder with `start`, `mark` and `stop`."""

from __future__ import annotations

import math
import time

from joulemap import _core
from joulemap._gpu import find_gpu
from joulemap.compat._shared import shared
from joulemap.compat.powerdl.profile import Profile
from joulemap.compat.powerdl.samples import Mark, Sample
from joulemap.compat.powerdl.settings import TorchRunConfig


class NvmlPowerReader:
    """Reads the present power and utilisation of a GPU.

    Parameters
    ----------
    device_index : int
        CUDA's index of the GPU; for a simulated board its index.

    Raises
    ------
    joulemap.NoDeviceError
        If there is no such GPU.
    """

    WAIT_S = 0.25  # the utilisation sensor has five readings per second

    def __init__(self, device_index: int = 0) -> None:
        self.device_index = device_index
        self._board = find_gpu(device_index)
        self.gpu_name = self._board.name

    def read(self) -> Sample:
        """Return the newest readings, some 0.02 s old; `t` is CLOCK_MONOTONIC, seconds. This takes some 0.3 s.

        Raises
        ------
        joulemap.Error
            If there are no readings of the GPU's power.
        """
        with shared.held(kernels=False) as session:
            time.sleep(self.WAIT_S)
            timeline = session.timeline()
        newest = {}
        for quantity in ("power", "gpu_utilisation", "memory_utilisation"):
            try:
                newest[quantity] = timeline.readings(quantity, self._board.index)
            except LookupError as error:
                if quantity == "power":
                    raise _core.Error(f"{error}: run `joulemap doctor` to see what is missing") from None
        values = {quantity: series.values[-1] for quantity, series in newest.items()}
        t_ns = newest["power"].t_ns[-1]
        unix_s = timeline.unix_s(t_ns)
        return Sample(
            1e-9 * t_ns,
            values["power"],
            values.get("gpu_utilisation", math.nan),
            values.get("memory_utilisation", math.nan),
            math.nan if unix_s is None else unix_s,
        )


class PowerRecorder(Profile):
    """Records a GPU between `start` and `stop`, also for `with`.

    Parameters
    ----------
    reader : NvmlPowerReader or int, optional
        A reader of the GPU, or the GPU's index, instead of `device_index`.
    interval_s, collect_util, device_index
        As in `profile_torch`.
    """

    def __init__(
        self,
        reader: NvmlPowerReader | int | None = None,
        interval_s: float = 0.02,
        collect_util: bool = True,
        *,
        device_index: int = 0,
    ) -> None:
        if reader is not None:
            device_index = reader.device_index if isinstance(reader, NvmlPowerReader) else reader
        super().__init__(TorchRunConfig(device_index=device_index, interval_s=interval_s, collect_util=collect_util))

    def start(self) -> PowerRecorder:
        """Begin recording."""
        return self.__enter__()

    def stop(self) -> None:
        """End recording; samples and marks stay."""
        self.progress("stop")
        self.__exit__(None, None, None)

    @property
    def samples(self) -> list[Sample]:
        """The samples so far, on a grid of `interval_s`."""
        return list(self.report().samples())

    @property
    def marks(self) -> list[Mark]:
        """The marks so far."""
        return list(self.report().marks())
