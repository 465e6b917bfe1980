"""Readings at intervals, by a separate process, whose rows survive a crash of the program."""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
import time

from joulemap import _arguments, _core
from joulemap._gpu import find_gpu, synchronize
from joulemap.compat._shared import warn_if_cpu_is_missing

_WAIT_S = 30.0


class AsynchronousMeasurementTool:
    """Writes a row per interval, from `start` to `stop`.

    Parameters
    ----------
    out_file : path
        CSV file, replaced by `start`. Time and energies of a row count from `start`; utilisation, temperature and power
        from the previous row. The last row is written at `stop`.
    gpu_num : int
        CUDA index of the GPU; for a simulated board its index.

    Raises
    ------
    joulemap.NoDeviceError
        If there is no such GPU.
    """

    def __init__(self, out_file: str | os.PathLike[str], gpu_num: int = 0) -> None:
        self.out_file = _arguments.path("out_file", out_file)
        self.gpu_num = gpu_num
        self._gpu = find_gpu(gpu_num).index
        self._process: subprocess.Popen[str] | None = None
        warn_if_cpu_is_missing()

    def start(self, interval: float = 1) -> None:
        """Begin; return once the other process reads the sensors.

        Parameters
        ----------
        interval : float
            Seconds between rows.

        Raises
        ------
        joulemap.Error
            If the other process could not start; the message says why.
        """
        if self._process is not None:
            raise RuntimeError("start() was called twice: call stop() between")
        interval = _arguments.real("interval", interval, 0, 1e6)
        command = [sys.executable, "-m", "joulemap.compat.measurement.sampling", self.out_file]
        process = self._process = subprocess.Popen(
            [*command, str(self._gpu), repr(interval), str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={name: value for name, value in os.environ.items() if name != "JOULEMAP_RUN"},
            start_new_session=True,  # so that Ctrl-C reaches only the program
        )
        atexit.register(self.stop)
        assert process.stdout is not None
        answer = process.stdout.readline().strip()
        if answer != "ready":
            self._wait()
            raise _core.Error(f"the process that measures did not begin: {answer or 'it died, see above'}")
        synchronize()
        self._send(f"begin {time.monotonic_ns()}")

    def stop(self) -> None:
        """End; return once all rows are in the file. It is called at exit.

        Raises
        ------
        RuntimeError
            Without a previous `start`.
        joulemap.Error
            If the other process had ended earlier.
        """
        if self._process is None:
            raise RuntimeError("stop() without start(): nothing is being measured")
        synchronize()
        self._send(f"stop {time.monotonic_ns()}")
        assert self._process.stdout is not None
        answer = self._process.stdout.read().strip()
        if self._wait() != 0 or answer:
            raise _core.Error(f"the process that measures ended early: {answer or 'killed'}; its rows are in the file")

    def _send(self, line: str) -> None:
        """Send a line to the other process. Reading its answer shows whether it has ended."""
        assert self._process is not None
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass

    def _wait(self) -> int:
        """Wait for the end of the other process and return its exit status."""
        assert self._process is not None
        process, self._process = self._process, None
        atexit.unregister(self.stop)
        try:
            process.communicate(timeout=_WAIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
        return process.returncode
