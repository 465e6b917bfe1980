"""The lower layer: a GPU's power now, and a recorder with `start`, `mark` and `stop`."""

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
    """Tells a GPU's power and utilisation as they are now.

    Parameters
    ----------
    device_index : int
        CUDA's index of the GPU; on the simulated board its own.

    Raises
    ------
    joulemap.NoDeviceError
        If there is no such GPU.
    """

    WAIT_S = 0.25  # a sensor of utilisation answers five times a second

    def __init__(self, device_index: int = 0) -> None:
        self.device_index = device_index
        self._board = find_gpu(device_index)
        self.gpu_name = self._board.name

    def read(self) -> Sample:
        """Return the newest readings, some 0.02 s old; `t` is CLOCK_MONOTONIC, seconds. It takes some 0.3 s.

        Raises
        ------
        joulemap.Error
            If the GPU tells no power.
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
        Of the GPU, or the GPU's index, in place of `device_index`.
    interval_s, collect_util, device_index
        As of `profile_torch`.
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
        """Begin to record."""
        return self.__enter__()

    def stop(self) -> None:
        """End it; samples and marks stay."""
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
