"""A log of a GPU's power."""

from __future__ import annotations

import time

from joulemap import _arguments
from joulemap._gpu import find_gpu
from joulemap._session import Session
from joulemap.compat._shared import shared


class PowerLogger:
    """Logs a GPU's power from `start` to `stop`, in the sampler's thread: no process is started per reading.

    Parameters
    ----------
    gpu_id : int
        CUDA index of the GPU; for a simulated board its index.
    poll_interval_ms : float
        Length of the intervals over which readings are averaged, ms. If the sensor is slower, each reading is a value.

    Attributes
    ----------
    readings : list of float
        Watts, as returned by `stop`.
    timestamps : list of float
        Unix seconds of each value: the mean time of its readings.

    Raises
    ------
    joulemap.NoDeviceError
        If there is no such GPU.
    """

    def __init__(self, gpu_id: int = 0, poll_interval_ms: float = 100) -> None:
        self.gpu_id = gpu_id
        self.poll_interval_ms = _arguments.real("poll_interval_ms", poll_interval_ms, 0, 1e9)
        self.readings: list[float] = []
        self.timestamps: list[float] = []
        self._gpu = find_gpu(gpu_id).index
        self._session: Session | None = None
        self._begin_ns = 0

    def start(self) -> None:
        """Begin a new log."""
        if self._session is not None:
            raise RuntimeError("start() was called twice: call stop() between")
        self.readings, self.timestamps = [], []
        self._session = shared.hold(kernels=False)
        self._begin_ns = time.monotonic_ns()

    def stop(self) -> list[float]:
        """End the log, and return the watts in order of time.

        Raises
        ------
        RuntimeError
            Without a previous `start`.
        LookupError
            If there are no readings of the GPU's power; the message says why.
        """
        session = self._session
        if session is None:
            raise RuntimeError("stop() without start(): nothing is being logged")
        end_ns = time.monotonic_ns()
        self._session = None
        try:
            timeline = session.readings(self._begin_ns, end_ns)
            power = timeline.readings("power", self._gpu)
        finally:
            shared.release(session)
        bins: dict[int, list[tuple[int, float]]] = {}
        for stamp_ns, watts in power:
            t_ns = stamp_ns - round(1e9 * power.lag_s)
            if t_ns >= self._begin_ns:
                bins.setdefault(int((t_ns - self._begin_ns) / (1e6 * self.poll_interval_ms)), []).append((t_ns, watts))
        unix_s = time.time() - 1e-9 * time.monotonic_ns()
        self.readings = [sum(watts for _, watts in one) / len(one) for one in bins.values()]
        self.timestamps = [unix_s + 1e-9 * sum(t_ns for t_ns, _ in one) / len(one) for one in bins.values()]
        return list(self.readings)
