"""Energy of parts of a program: a row of the file for each start and stop."""

from __future__ import annotations

import atexit
import os
import time
import warnings

from joulemap._gpu import find_gpu, synchronize
from joulemap._session import Session
from joulemap.compat._shared import RowFile, kwh, shared, warn_if_cpu_is_missing

COLUMNS = (
    "elapsed time (s)",
    "CPU energy (kWh)",
    "GPU energy (kWh)",
    "GPU energy low (kWh)",
    "GPU energy high (kWh)",
)
"""The old columns, then the 95 % interval of the GPU's energy."""


class EnergyMeasurementTool:
    """Measures parts of a program, each between `start` and `stop`.

    Parameters
    ----------
    out_file : path
        CSV file, replaced at the first `start`, with a row per part, written at `stop`.
    gpu_num : int
        CUDA index of the GPU; for a simulated board its index.

    Raises
    ------
    joulemap.NoDeviceError
        If there is no such GPU.
    """

    def __init__(self, out_file: str | os.PathLike[str], gpu_num: int = 0) -> None:
        self.out_file = out_file
        self.gpu_num = gpu_num
        self._gpu = find_gpu(gpu_num).index
        self._file: RowFile | None = None
        self._session: Session | None = None
        self._begin_ns = 0
        warn_if_cpu_is_missing()

    def start(self) -> None:
        """Wait for earlier work of the GPUs, and begin a part."""
        if self._session is not None:
            raise RuntimeError("start() was called twice: call stop() between, or take a second tool")
        if self._file is None:
            self._file = RowFile(self.out_file, COLUMNS)
        self._session = shared.hold(kernels=False)
        atexit.register(self.stop)
        synchronize()
        self._begin_ns = time.monotonic_ns()

    def stop(self) -> None:
        """Wait for the work of the GPUs, end the part and write its row. It is called at exit.

        Raises
        ------
        RuntimeError
            Without a previous `start`.
        """
        session = self._session
        if session is None or self._file is None:
            raise RuntimeError("stop() without start(): nothing is being measured")
        synchronize()
        end_ns = time.monotonic_ns()
        self._session = None
        atexit.unregister(self.stop)
        try:
            gpu = session.energy(self._begin_ns, end_ns, gpu=self._gpu)
            cpu = session.energy(self._begin_ns, end_ns, cpu=True)
        finally:
            shared.release(session)
        if gpu.energy_j is None:
            warnings.warn(
                "no reading of the GPU's power came in, its field is empty: run `joulemap doctor` to see why",
                RuntimeWarning,
                stacklevel=2,
            )
        energies = (cpu.energy_j, gpu.energy_j, gpu.energy_low_j, gpu.energy_high_j)
        self._file.write([1e-9 * (end_ns - self._begin_ns), *map(kwh, energies)])
