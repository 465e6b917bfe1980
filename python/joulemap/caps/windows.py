"""Windows of whole steps, and what they took: time, energy, and how far windows of the same work differ."""

from __future__ import annotations

import math
import time
from typing import NamedTuple

from joulemap import _core
from joulemap._gpu import synchronize
from joulemap._session import Session
from joulemap.caps.work import Work

WINDOWS = 3  # of a trial: each has the same steps, so that their spread tells how sure its figures are
_LEAST_WARM_STEPS = 2
_AHEAD_S = 0.2  # how far the host may be ahead while the GPU settles
_EXPECTED = 0.005  # how far windows differ before any was seen, as a share, worth so many differences
_EXPECTED_FREEDOM = 4
_MOST = 0.5  # of a figure: what a window shorter than the sensor's period shows is hardly anything
_NORMAL = 1.959964  # half of a 95 % interval is so many standard uncertainties


class Measured(NamedTuple):
    """A step at a cap: seconds, watts, and their standard uncertainties."""

    time_s: float
    power_w: float
    time_u_s: float
    power_u_w: float


class _Spread:
    """How far windows of the same work differ, as a share, out of all trials together."""

    def __init__(self) -> None:
        self._sum = _EXPECTED_FREEDOM * _EXPECTED**2
        self._freedom = _EXPECTED_FREEDOM

    def tell(self, values: list[float]) -> float:
        """Add the windows of a trial; return the standard uncertainty of its mean, as a share."""
        mean = sum(values) / len(values)
        self._sum += sum((value / mean - 1) ** 2 for value in values)
        self._freedom += len(values) - 1
        return math.sqrt(self._sum / self._freedom / len(values))


class Meter:
    """Measures windows of a work on one GPU.

    Parameters
    ----------
    session : Session
        A running one, which reads the GPU's power.
    work : Work
        What is repeated.
    gpu : int
        Index of the GPU.
    """

    def __init__(self, session: Session, work: Work, gpu: int) -> None:
        self._session, self._work, self._gpu = session, work, gpu
        self._times, self._powers = _Spread(), _Spread()
        self._steps = 0

    @property
    def steps(self) -> int:
        """Steps of a window: as many each time."""
        return self._steps

    def settle(self, seconds: float) -> None:
        """Work for so long, whatever it takes: clocks and temperature follow a cap within a second or so."""
        self._work.begin()
        begin_s, steps = time.monotonic(), 0
        while steps < _LEAST_WARM_STEPS or time.monotonic() - begin_s < seconds:
            steps += self._work_for(min(_AHEAD_S, seconds))

    def _work_for(self, seconds: float) -> int:
        """Work until so many seconds have passed, and wait for it: else the host would be far ahead."""
        begin_s, steps = time.monotonic(), 0
        while steps == 0 or time.monotonic() - begin_s < seconds:
            self._work.step()
            steps += 1
        synchronize()
        return steps

    def choose_steps(self, window_s: float) -> None:
        """Find out how many steps a window has, of all windows of a trial so many seconds; the work is warm."""
        if self._steps > 0:
            return
        wanted_s, steps = window_s / WINDOWS, 1
        while self._time_of(steps) <= wanted_s / 4:
            steps *= 2
        took_s = min(self._time_of(steps) for _ in range(2))  # what held one up is not the work's
        self._steps = max(1, math.ceil(wanted_s / took_s * steps))

    def _time_of(self, steps: int) -> float:
        self._work.begin()
        synchronize()
        begin_s = time.monotonic()
        for _ in range(steps):
            self._work.step()
        synchronize()
        return time.monotonic() - begin_s

    def measure(self, name: str) -> Measured:
        """Measure the windows of a trial; `name` is what the recording calls them.

        Raises
        ------
        joulemap.Error
            If no reading of the GPU's power came in.
        """
        windows = []
        for _ in range(WINDOWS):
            self._work.begin()
            synchronize()
            with self._session.window(name) as window:
                for _ in range(self._steps):
                    self._work.step()
                synchronize()
            windows.append(window)
        times, powers, shares = [], [], []
        for window in reversed(windows):  # after the last one no other has to wait for its readings
            found = window.energy(gpu=self._gpu)
            if found.energy_j is None or found.energy_low_j is None or found.energy_high_j is None:
                raise _core.Error("no reading of the GPU's power came in: run `joulemap doctor` to see what is missing")
            assert window.start_ns is not None
            assert window.end_ns is not None
            duration_s = 1e-9 * (window.end_ns - window.start_ns)
            times.append(duration_s / self._steps)
            powers.append(found.energy_j / duration_s)
            shares.append((found.energy_high_j - found.energy_low_j) / 2 / _NORMAL / max(found.energy_j, 1e-12))
        time_s, power_w = sum(times) / WINDOWS, sum(powers) / WINDOWS
        sensor = math.sqrt(sum(share**2 for share in shares)) / WINDOWS
        power_share = min(max(self._powers.tell(powers), sensor), _MOST)
        return Measured(time_s, power_w, min(self._times.tell(times), _MOST) * time_s, power_share * power_w)
