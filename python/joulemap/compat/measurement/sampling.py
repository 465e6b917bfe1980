"""The process behind AsynchronousMeasurementTool: python -m ... OUT_FILE GPU INTERVAL PARENT.

It prints "ready", reads "begin TIME" and "stop TIME" (CLOCK_MONOTONIC, ns), and ends by itself when its parent is gone.
"""

from __future__ import annotations

import os
import select
import sys
import time
from dataclasses import dataclass, field

from joulemap._report import Sum
from joulemap._session import MeasuringSession, Session
from joulemap._timeline import Timeline
from joulemap.compat._shared import RowFile, kwh
from joulemap.compat.measurement.processor import Processor

COLUMNS = (
    "elapsed time (s)",
    "CPU energy (kWh)",
    "CPU utilisation (%)",
    "CPU temp (C)",
    "GPU energy (kWh)",
    "GPU utilisation (%)",
    "GPU temp (C)",
    "GPU power (W)",
    "GPU energy low (kWh)",
    "GPU energy high (kWh)",
)
"""The old columns, then the 95 % interval of the GPU's energy."""

_PARENT_CHECK_S = 0.2  # interval at which it checks for its parent
_CHUNK_NS = 600_000_000_000
_BEHIND_NS = 1_000_000_000  # rows that are later than this are left out
_NEWEST_NS = 2_000_000_000  # slow quantities use their newest reading, at most this old


def _added(a: Sum, b: Sum) -> Sum:
    """Return the energy of two consecutive intervals; unknown if one is unknown."""
    if a.energy_j is None or a.energy_low_j is None or a.energy_high_j is None:
        return a
    if b.energy_j is None or b.energy_low_j is None or b.energy_high_j is None:
        return b
    return Sum(a.energy_j + b.energy_j, a.energy_low_j + b.energy_low_j, a.energy_high_j + b.energy_high_j)


@dataclass
class Account:
    """The energy of a GPU (None: of the CPU) since a time, summed over chunks, so that each call reads few readings."""

    session: Session
    gpu: int | None
    from_ns: int
    past: Sum = field(default_factory=lambda: Sum(0.0, 0.0, 0.0))

    def until(self, t_ns: int) -> Sum:
        """Return the joules up to a time; times must not decrease."""
        while t_ns - self.from_ns > _CHUNK_NS:
            self.past = _added(self.past, self._of(self.from_ns, self.from_ns + _CHUNK_NS))
            self.from_ns += _CHUNK_NS
        return _added(self.past, self._of(self.from_ns, t_ns))

    def _of(self, from_ns: int, to_ns: int) -> Sum:
        return self.session.energy(from_ns, to_ns, gpu=self.gpu, cpu=self.gpu is None)


class Sampler:
    """Writes rows.

    Parameters
    ----------
    session : Session
        A running session.
    file : RowFile
        The file.
    gpu : int
        Index of the GPU.
    begin_ns : int
        Begin of the measurement, CLOCK_MONOTONIC.
    """

    def __init__(self, session: Session, file: RowFile, gpu: int, begin_ns: int) -> None:
        self._session, self._file, self._gpu, self._begin_ns = session, file, gpu, begin_ns
        self._energies = Account(session, None, begin_ns), Account(session, gpu, begin_ns)
        self._processor = Processor()
        self._last_ns, self._last_j = begin_ns, 0.0

    def row(self, t_ns: int) -> None:
        """Write the row for a time."""
        cpu, gpu = (account.until(t_ns) for account in self._energies)
        power_w = None
        if gpu.energy_j is not None and t_ns > self._last_ns:
            power_w = (gpu.energy_j - self._last_j) / (1e-9 * (t_ns - self._last_ns))
        readings = self._session.readings(min(self._last_ns, t_ns - _NEWEST_NS), t_ns)
        self._file.write(
            [
                1e-9 * (t_ns - self._begin_ns),
                kwh(cpu.energy_j),
                self._processor.utilisation(),
                self._processor.temperature(),
                kwh(gpu.energy_j),
                _mean(readings, "gpu_utilisation", self._gpu, self._last_ns),
                _mean(readings, "temperature", self._gpu, t_ns),
                power_w,
                kwh(gpu.energy_low_j),
                kwh(gpu.energy_high_j),
            ]
        )
        self._last_ns, self._last_j = t_ns, gpu.energy_j or self._last_j


def _mean(readings: Timeline, quantity: str, gpu: int, from_ns: int) -> float | None:
    """Return the mean of a sensor's readings after a time, else its newest reading, else None."""
    try:
        series = readings.readings(quantity, gpu)
    except LookupError:
        return None
    values = [value for t_ns, value in series if t_ns > from_ns] or [series.values[-1]]
    return sum(values) / len(values)


class Orders:
    """The lines that the parent sends.

    Attributes
    ----------
    parent : int
        Process id of the parent.
    """

    def __init__(self, parent: int) -> None:
        self.parent = parent
        self._rest = b""

    def wait(self, until_ns: int | None) -> str | None:
        """Return the next line, or None at `until_ns`; `stop TIME` if the parent is gone."""
        while True:
            if b"\n" in self._rest:
                line, _, self._rest = self._rest.partition(b"\n")
                return line.decode()
            if os.getppid() != self.parent:
                return f"stop {time.monotonic_ns()}"
            wait_s = _PARENT_CHECK_S if until_ns is None else 1e-9 * (until_ns - time.monotonic_ns())
            if select.select([0], [], [], min(_PARENT_CHECK_S, max(0.0, wait_s)))[0]:
                received = os.read(0, 4096)
                self._rest += received if received else f"stop {time.monotonic_ns()}\n".encode()
            elif wait_s <= 0:
                return None


def sample(orders: Orders, path: str, gpu: int, interval_s: float) -> None:
    """Write rows from `begin` to `stop`."""
    file = RowFile(path, COLUMNS)
    with MeasuringSession(kernels=False, counters=False) as session:
        print("ready", flush=True)
        order, _, begin = (orders.wait(None) or "").partition(" ")
        if order != "begin":
            return
        begin_ns = int(begin)
        sampler = Sampler(session, file, gpu, begin_ns)
        number = 1
        stop_ns: int | None = None
        while True:
            next_ns = begin_ns + round(1e9 * interval_s * number)
            if stop_ns is None:
                line = orders.wait(next_ns)
                stop_ns = None if line is None else int(line.partition(" ")[2])
            if stop_ns is not None and next_ns >= stop_ns:
                break
            if stop_ns is None or stop_ns - next_ns < _BEHIND_NS:
                sampler.row(next_ns)
            behind_ns = time.monotonic_ns() - next_ns
            number += 1 if behind_ns < _BEHIND_NS else max(1, int(1e-9 * behind_ns / interval_s))
        sampler.row(stop_ns)


def main() -> None:
    """Run the process."""
    path, gpu, interval_s, parent = sys.argv[1:5]
    try:
        sample(Orders(int(parent)), path, int(gpu), float(interval_s))
    except Exception as error:
        print(f"{type(error).__name__}: {error}", flush=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
