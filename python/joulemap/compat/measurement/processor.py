"""Utilisation and temperature of the CPU, from /proc and /sys."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

_SENSORS = ("coretemp", "k10temp", "zenpower", "cpu_thermal")
_ZONES = ("x86_pkg_temp", "cpu")
_LEAST_S = 0.05  # between two readings: the kernel counts in hundredths of a second


class Processor:
    """All CPUs of this machine together.

    Parameters
    ----------
    root : path
        Folder with /proc and /sys.
    """

    def __init__(self, root: str | Path = "/") -> None:
        self._stat = Path(root) / "proc/stat"
        self._sensor = _sensor(Path(root))
        self._since_s = time.monotonic()
        self._before = self._times()
        self._known: float | None = None

    def _times(self) -> tuple[int, int]:
        """Return busy and total time since boot; waiting for a disk is not busy."""
        with suppress(OSError, ValueError, IndexError):
            fields = [int(field) for field in self._stat.read_text().splitlines()[0].split()[1:9]]
            return sum(fields) - fields[3] - fields[4], sum(fields)
        return 0, 0

    def utilisation(self) -> float | None:
        """Return the percentage of all CPUs since the last call; within 0.05 s the previous result."""
        now_s = time.monotonic()
        if now_s - self._since_s < _LEAST_S:
            return self._known
        busy, total = self._times()
        passed = total - self._before[1]
        self._known = 100 * (busy - self._before[0]) / passed if passed > 0 else None
        self._since_s, self._before = now_s, (busy, total)
        return self._known

    def temperature(self) -> float | None:
        """Return degrees Celsius of the first package; None without a sensor."""
        if self._sensor is None:
            return None
        with suppress(OSError, ValueError):
            return int(self._sensor.read_text()) / 1000
        return None


def _sensor(root: Path) -> Path | None:
    """Return the file with the CPU's temperature."""
    found: list[Path] = []
    for names, pattern, key, value in (
        (_SENSORS, "sys/class/hwmon/hwmon*", "name", "temp1_input"),
        (_ZONES, "sys/class/thermal/thermal_zone*", "type", "temp"),
    ):
        for folder in sorted(root.glob(pattern)):
            with suppress(OSError):
                name = (folder / key).read_text().strip()
                if name.startswith(names) and (folder / value).exists():
                    found.append(folder / value)
    return found[0] if found else None
