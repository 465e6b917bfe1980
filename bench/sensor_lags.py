#!/usr/bin/env python3
"""How late the polled sensors of a recorded board are, measured against its sample ring.

usage: bench/sensor_lags.py READINGS.csv [--tau-ms 13] [--lag-ms 3.5]

The ring covers all of the time, so its integral is the board's energy, late by lag + tau. Each other
sensor is compared with what that energy makes of it, for every lag on a grid; the best lag is printed
with the residual and the gain. Columns of the file: sensor,t_s,value (see docs/sensors.md).
"""

import argparse
import csv
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
EDGE_S = 3.0  # left out at both ends: the widest window and lag


def readings(path: Path) -> dict[str, Array]:
    """Read the rows (t_s, value) of each sensor."""
    rows: dict[str, list[tuple[float, float]]] = {}
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            rows.setdefault(row["sensor"], []).append((float(row["t_s"]), float(row["value"])))
    return {sensor: np.array(values) for sensor, values in rows.items()}


def ring_grid(t_s: Array, period_s: float = 0.02) -> Array:
    """Put late stamps of the ring back on their grid (the rule of docs/sensors.md)."""
    before, after = np.diff(t_s)[:-1], np.diff(t_s)[1:]
    late = (before > 1.25 * period_s) & (after < 0.75 * period_s)
    grid = t_s.copy()
    grid[1:-1][late] = (t_s[:-2] + t_s[2:])[late] / 2
    return grid


def main() -> None:
    """Print a line a sensor."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("readings", type=Path)
    parser.add_argument("--tau-ms", type=float, default=13.0, help="time constant of the ring")
    parser.add_argument("--lag-ms", type=float, default=3.5, help="lag of the ring")
    options = parser.parse_args()
    sensors = readings(options.readings)
    ring = sensors["power_ring_w"]
    t_s = ring_grid(ring[:, 0]) - (options.tau_ms + options.lag_ms) * 1e-3
    energy_j = np.concatenate([[0.0], np.cumsum(np.diff(t_s) * (ring[1:, 1] + ring[:-1, 1]) / 2)])

    def energy_at(when_s: Array) -> Array:
        return np.interp(when_s, t_s, energy_j)

    print("sensor                  window_s  lag_ms  residual    gain")
    for sensor, window_s in (
        ("energy_counter_j", 0.0),
        ("power_instant_w", 0.025),
        ("power_average_1s_w", 1.0),
    ):
        rows = sensors[sensor]
        rows = rows[(rows[:, 0] > t_s[0] + EDGE_S) & (rows[:, 0] < t_s[-1] - EDGE_S)]
        found = []
        for lag_s in np.arange(-0.05, 0.1, 0.001):
            if window_s == 0:
                model, value = np.diff(energy_at(rows[:, 0] - lag_s)), np.diff(rows[:, 1])
            else:
                at_s = rows[:, 0] - lag_s
                model, value = (energy_at(at_s) - energy_at(at_s - window_s)) / window_s, rows[:, 1]
            gain = float(model @ value / (model @ model))
            found.append((float(np.std(value - gain * model)), float(lag_s), gain))
        residual, lag_s, gain = min(found)
        unit = "J" if window_s == 0 else "W"
        print(f"{sensor:<24}{window_s:<10}{lag_s * 1e3:<8.0f}{residual:<8.2f}{unit}  {gain:.4f}")


if __name__ == "__main__":
    main()
