"""Work of known length beside a simulated GPU, as searches for a power cap want it."""

from __future__ import annotations

import ctypes
import time

import joulemap
from joulemap._cli import native_folder


class Paced:
    """Work whose steps follow each other on time: after one that a busy machine brought late comes a shorter one."""

    def __init__(self) -> None:
        self._due_s = self._over_s = 0.0
        self.calls = 0

    def until_due(self, step_s: float) -> None:
        """Rest until this step is over."""
        self.calls += 1
        now_s = time.perf_counter()
        if now_s > self._over_s + 3e-4:  # something else came in between
            self._due_s = now_s
        self._due_s += step_s
        time.sleep(max(0.0, self._due_s - time.perf_counter() - 2e-4))
        while time.perf_counter() < self._due_s:
            pass
        self._over_s = time.perf_counter()


class Law(Paced):
    """Work that slows down with the simulated GPU's clock, as some of it does."""

    def __init__(self, run: joulemap.Session, slow: float, step_s: float = 2e-3) -> None:
        super().__init__()
        self._run, self._slow, self._step_s = run, slow, step_s
        self._sim = ctypes.CDLL(str(native_folder() / "sim" / "libnvidia-ml.so.1"))
        self._sim.jmsim_speed.restype = ctypes.c_double

    def __call__(self) -> None:
        speed = float(self._sim.jmsim_speed(0, b"Linear"))
        assert 0 < speed <= 1
        with self._run.window("work", type="Linear"):
            self.until_due(self._step_s * (1 - self._slow + self._slow / speed))
