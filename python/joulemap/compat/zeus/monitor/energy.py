"""Windows by name, with Zeus' names for their figures."""

from __future__ import annotations

import math
import os
import time
import weakref
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from joulemap import _arguments
from joulemap._gpu import find_gpu, synchronize
from joulemap._machine import boards
from joulemap._scope import Scope
from joulemap.compat._shared import RowFile, shared


class Measurement:
    """Time and energy of a window.

    `time` is in seconds. The energies are computed when they are first used, from all readings around the window: right
    after its end that waits some 0.1 s. NaN: no sensor measured it.
    """

    def __init__(self, window: Scope, gpus: dict[int, int], *, cancelled: bool = False) -> None:
        self._window = window
        self._gpus = gpus  # own indices by CUDA's
        self._cancelled = cancelled
        self.time = 0.0 if cancelled else window.seconds

    @cached_property
    def _sums(self) -> dict[int, tuple[float, ...]]:
        """Joules and the ends of their interval, by CUDA's index."""
        if self._cancelled:
            return dict.fromkeys(self._gpus, (0.0, 0.0, 0.0))
        sums = {index: self._window.energy(gpu=gpu) for index, gpu in self._gpus.items()}
        return {index: tuple(math.nan if value is None else value for value in sum) for index, sum in sums.items()}

    @property
    def gpu_energy(self) -> dict[int, float]:
        """Joules by CUDA's index of the GPU."""
        return {index: joules for index, (joules, *_) in self._sums.items()}

    @property
    def gpu_interval(self) -> dict[int, tuple[float, ...]]:
        """Ends of the 95 % interval of `gpu_energy`, which Zeus does not have."""
        return {index: tuple(ends) for index, (_, *ends) in self._sums.items()}

    @property
    def total_energy(self) -> float:
        """Joules of the GPUs together."""
        return sum(self.gpu_energy.values())

    @cached_property
    def _domains(self) -> dict[tuple[str, int], float]:
        """Joules of CPU packages and DRAM by kind and number: ("package", 0)."""
        rows = [] if self._cancelled else self._window.report("board").rows
        parts = [(row.name.rpartition("-"), row.energy_j) for row in rows if row.energy_j is not None]
        return {(kind, int(number)): joules for (kind, _, number), joules in parts if number.isdecimal()}

    @property
    def cpu_energy(self) -> dict[int, float] | None:
        """Joules by CPU package; None if they cannot be read."""
        return {number: joules for (kind, number), joules in self._domains.items() if kind == "package"} or None

    @property
    def dram_energy(self) -> dict[int, float] | None:
        """Joules of each package's DRAM; None if they cannot be read."""
        return {number: joules for (kind, number), joules in self._domains.items() if kind == "dram"} or None

    def __repr__(self) -> str:
        return f"Measurement(time={self.time!r}, gpu_energy={self.gpu_energy!r}, cpu_energy={self.cpu_energy!r})"


class ZeusMonitor:
    """Measures windows of a program, nested and overlapping ones too.

    Sensors are read in the open session, else in one of its own for as long as the monitor lives.

    Parameters
    ----------
    gpu_indices : list of int, optional
        CUDA indices of the GPUs; all without it.
    cpu_indices : list of int, optional
        Not used: the CPU is read if this user may.
    approx_instant_energy : bool
        Not used: short windows have energies too, with a wide interval.
    log_file : path, optional
        CSV file with a row per window; each end of a window then waits some 0.1 s for the sensors.
    sync_execution_with : str
        Not used: the GPUs of PyTorch and JAX are waited for, whichever is imported.

    Raises
    ------
    joulemap.NoDeviceError
        If there is no GPU, or none with such an index.
    """

    def __init__(
        self,
        gpu_indices: Sequence[int] | None = None,
        cpu_indices: Sequence[int] | None = None,
        approx_instant_energy: bool = False,
        log_file: str | os.PathLike[str] | None = None,
        sync_execution_with: str = "torch",
    ) -> None:
        if gpu_indices is None:
            gpus = [board for board in boards() if board.kind == "gpu"]
            seen = [board for board in gpus if board.cuda_index >= 0] or gpus
            self._gpus = {board.cuda_index if board.cuda_index >= 0 else board.index: board.index for board in seen}
        else:
            self._gpus = {index: find_gpu(index).index for index in gpu_indices}
        self.gpu_indices = sorted(self._gpus)
        self._windows: dict[str, tuple[Scope, float]] = {}
        self._file: RowFile | None = None
        if log_file is not None:
            Path(log_file).parent.mkdir(parents=True, exist_ok=True)
            columns = [f"gpu{index}_energy" for index in self.gpu_indices]
            self._file = RowFile(log_file, ["start_time", "window_name", "elapsed_time", *columns])
        self._session = shared.hold(kernels=False)
        weakref.finalize(self, shared.release, self._session)

    def begin_window(self, key: str, sync_execution: bool | None = None) -> None:
        """Begin a window of this name; ValueError if one is open. False: without waiting for work of the GPUs."""
        if _arguments.text("key", key) in self._windows:
            raise ValueError(f"Measurement window '{key}' already exists")
        window = self._session.window(key)
        if sync_execution is not False:
            synchronize()
        self._windows[key] = (window.begin(), time.time())

    def end_window(self, key: str, sync_execution: bool | None = None, cancel: bool = False) -> Measurement:
        """End a window; ValueError if there is none. `cancel`: the result is zeros, and no row of the log file."""
        if _arguments.text("key", key) not in self._windows:
            raise ValueError(f"Measurement window '{key}' does not exist")
        window, began_s = self._windows.pop(key)
        if sync_execution is not False:
            synchronize()
        window.end()
        measured = Measurement(window, self._gpus, cancelled=cancel)
        if self._file is not None and not cancel:
            energies = [measured.gpu_energy[index] for index in self.gpu_indices]
            self._file.write([began_s, key, measured.time, *energies])
        return measured
