"""Measure windows of whole steps: time, power, and the spread of windows of the same work."""

from __future__ import annotations

import math
import time
from typing import NamedTuple

from joulemap import _core
from joulemap._gpu import synchronize
from joulemap._session import Session
from joulemap.caps.work import Work

WINDOWS = 3  # per trial, with equal steps: their spread gives the uncertainty
_LEAST_WARM_STEPS = 2
_AHEAD_S = 0.2  # how far the host may run ahead while the GPU settles
_PRIOR_SPREAD = 0.005  # prior of the relative spread of windows, with these degrees of freedom
_PRIOR_FREEDOM = 4
_MAX_SHARE = 0.5  # limit of relative uncertainties, for windows shorter than the sensor's period
_NORMAL = 1.959964  # half-width of a 95 % interval in standard uncertainties


class Measured(NamedTuple):
    """Seconds of a step, watts, and their standard uncertainties."""

    time_s: float
    power_w: float
    time_u_s: float
    power_u_w: float


class _Spread:
    """The relative spread of windows of the same work, pooled over all trials."""

    def __init__(self) -> None:
        self._sum = _PRIOR_FREEDOM * _PRIOR_SPREAD**2
        self._freedom = _PRIOR_FREEDOM

    def add(self, values: list[float]) -> float:
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
        A running session, which reads the GPU's power.
    work : Work
        The repeated work.
    gpu : int
        Index of the GPU.
    """

    def __init__(self, session: Session, work: Work, gpu: int) -> None:
        self._session, self._work, self._gpu = session, work, gpu
        self._times, self._powers = _Spread(), _Spread()
        self._steps = 0

    @property
    def steps(self) -> int:
        """Steps of each window."""
        return self._steps

    def settle(self, seconds: float) -> None:
        """Work for some time: clocks and temperature follow a cap within about a second."""
        self._work.begin()
        begin_s, steps = time.monotonic(), 0
        while steps < _LEAST_WARM_STEPS or time.monotonic() - begin_s < seconds:
            steps += self._work_for(min(_AHEAD_S, seconds))

    def _work_for(self, seconds: float) -> int:
        """Work for some time and wait for the GPU, so that the host does not run far ahead; return the steps."""
        begin_s, steps = time.monotonic(), 0
        while steps == 0 or time.monotonic() - begin_s < seconds:
            self._work.step()
            steps += 1
        synchronize()
        return steps

    def choose_steps(self, window_s: float) -> None:
        """Choose the steps of a window, so that all windows of a trial take `window_s`; the work must be warm."""
        if self._steps > 0:
            return
        target_s, steps = window_s / WINDOWS, 1
        while self._time_of(steps) <= target_s / 4:
            steps *= 2
        took_s = min(self._time_of(steps) for _ in range(2))  # the minimum excludes disturbances
        self._steps = max(1, math.ceil(target_s / took_s * steps))

    def _time_of(self, steps: int) -> float:
        self._work.begin()
        synchronize()
        begin_s = time.monotonic()
        for _ in range(steps):
            self._work.step()
        synchronize()
        return time.monotonic() - begin_s

    def measure(self, name: str) -> Measured:
        """Measure the windows of a trial; `name` is their name in the recording.

        Raises
        ------
        joulemap.Error
            If there were no readings of the GPU's power.
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
        for window in reversed(windows):  # only the last one waits for readings
            energy = window.energy(gpu=self._gpu)
            if energy.energy_j is None or energy.energy_low_j is None or energy.energy_high_j is None:
                raise _core.Error("no reading of the GPU's power came in: run `joulemap doctor` to see what is missing")
            assert window.start_ns is not None
            assert window.end_ns is not None
            duration_s = 1e-9 * (window.end_ns - window.start_ns)
            times.append(duration_s / self._steps)
            powers.append(energy.energy_j / duration_s)
            shares.append((energy.energy_high_j - energy.energy_low_j) / 2 / _NORMAL / max(energy.energy_j, 1e-12))
        time_s, power_w = sum(times) / WINDOWS, sum(powers) / WINDOWS
        sensor_share = math.sqrt(sum(share**2 for share in shares)) / WINDOWS
        power_share = min(max(self._powers.add(powers), sensor_share), _MAX_SHARE)
        return Measured(time_s, power_w, min(self._times.add(times), _MAX_SHARE) * time_s, power_share * power_w)
