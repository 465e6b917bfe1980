"""How often does a power sensor look? Finds the windows that a ring's readings are made of, in a recording.

The ring is a first-order response. If it is fed by short windows, one each 1 / f seconds, and not by the power itself,
then what a fit leaves of its readings follows the power times exp(2 pi i f t), put through the same response. This
looks for f, in the whole run and in intervals of 2 s (the window's oscillator drifts). Kernels must be recorded.

    python bench/gpu/sampling.py RUN.joulemap [--from-hz 1200] [--to-hz 1280]

It needs NumPy and SciPy.
"""

from __future__ import annotations

import argparse
import math
import sqlite3
import sys

import numpy as np
from scipy.signal import lfilter

STEP_NS = 40_000  # of the grid that powers are laid on
TAU_NS, LAG_NS = 12e6, 3.3e6  # of the ring, found with its stamps on their grid
CLASSES = 40  # kernels with a column of their own, those that ran longest
GAPS_NS = (50_000, 1_000_000)  # idle states by the length of the gap
PERIOD_NS = 20_000_000
STRETCH_NS = 2e9


def read(path: str) -> tuple[np.ndarray, np.ndarray]:
    """Kernels (start, duration, class) and readings of the ring (time, W)."""
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as file:
        kernels = file.execute("SELECT start_ns, duration_ns, class_id FROM kernels ORDER BY start_ns").fetchall()
        readings = file.execute(
            "SELECT r.t_ns, r.value FROM readings r JOIN sensors s ON s.id = r.sensor_id"
            " WHERE s.name = 'power_ring' ORDER BY r.t_ns"
        ).fetchall()
    return np.array(kernels, dtype=np.int64), np.array(readings, dtype=float)


def occupancy(kernels: np.ndarray, from_ns: float, to_ns: float) -> np.ndarray:
    """Share of each step of time that each column took: kernels, the rest of them, idle states."""
    seconds = np.bincount(kernels[:, 2], weights=kernels[:, 1])
    column = np.full(len(seconds), CLASSES)
    for rank, kind in enumerate(np.argsort(-seconds)[:CLASSES]):
        column[kind] = rank
    out = np.zeros((int((to_ns - from_ns) / STEP_NS) + 2, CLASSES + 1 + len(GAPS_NS) + 1), dtype=np.float32)

    def add(at: int, begin_ns: float, end_ns: float) -> None:
        first, last = (begin_ns - from_ns) / STEP_NS, (end_ns - from_ns) / STEP_NS
        i, j = int(first), int(last)
        if i == j:
            out[i, at] += last - first
            return
        out[i, at] += i + 1 - first
        out[i + 1 : j, at] += 1
        out[j, at] += last - j

    now_ns = from_ns
    for start_ns, duration_ns, kind in kernels.tolist():
        if start_ns > now_ns:
            add(CLASSES + 1 + sum(start_ns - now_ns > gap for gap in GAPS_NS), now_ns, start_ns)
            now_ns = start_ns
        end_ns = start_ns + duration_ns
        if end_ns > now_ns:
            add(int(column[kind]), max(start_ns, now_ns), end_ns)
            now_ns = end_ns
    return out


def on_grid(stamps_ns: np.ndarray) -> np.ndarray:
    """Late stamps back where most of those around them lie, as src/attribute/input/ring_grid.c does."""
    out = stamps_ns.copy()
    for i, stamp in enumerate(stamps_ns):
        apart = stamps_ns[max(0, i - 50) : i + 51] - stamp
        off = np.sort(apart - (np.ceil(apart / PERIOD_NS + 0.65) - 1) * PERIOD_NS)
        inside = np.searchsorted(off, off + PERIOD_NS / 10, "right") - np.arange(len(off))
        grid = off[inside.argmax() + inside.max() // 2]
        if grid < -PERIOD_NS / 20:
            out[i] += grid
    return out


def respond(power: np.ndarray, at: np.ndarray) -> np.ndarray:
    keep = math.exp(-STEP_NS / TAU_NS)
    return np.asarray(lfilter([1 - keep], [1, -keep], power, axis=0))[at]


def explained(residual: np.ndarray, wave: np.ndarray) -> float:
    """Share of the residual's variance that a wave of free size and phase takes."""
    design = np.stack([wave.real, wave.imag, np.ones(len(wave))], 1)
    rest = residual - design @ np.linalg.lstsq(design, residual, rcond=None)[0]
    return 1 - float(np.var(rest) / np.var(residual))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recording")
    parser.add_argument("--from-hz", type=float, default=1230)
    parser.add_argument("--to-hz", type=float, default=1255)
    parser.add_argument("--step-hz", type=float, default=0.02)
    args = parser.parse_args()
    kernels, readings = read(args.recording)
    if len(kernels) == 0 or len(readings) < 100:
        sys.exit(f"{args.recording}: no kernels, or fewer than 100 readings of a ring")
    from_ns = float(kernels[0, 0])
    to_ns = float(kernels[:, :2].sum(1).max())
    t_ns = on_grid(readings[:, 0])
    inside = (t_ns > from_ns + 250e6) & (t_ns < to_ns)
    t_ns, power_w = t_ns[inside], readings[inside, 1]
    columns = occupancy(kernels, from_ns, to_ns)
    at = ((t_ns - LAG_NS - from_ns) / STEP_NS).astype(int)
    design = respond(columns.astype(float), at)
    usual = np.where(np.arange(design.shape[1]) > CLASSES, 120.0, 550.0)
    spread = np.where(np.arange(design.shape[1]) > CLASSES, 60.0, 250.0)
    noise = np.eye(design.shape[1]) * (15.0 / spread) ** 2
    powers = usual + np.linalg.solve(design.T @ design + noise, design.T @ (power_w - design @ usual))
    residual = power_w - design @ powers
    course = columns @ powers
    time_s = (np.arange(len(course)) + 0.5) * STEP_NS * 1e-9
    print(f"{args.recording}: {len(t_ns)} readings, residual {residual.std():.1f} W")
    interval = ((t_ns - t_ns[0]) // STRETCH_NS).astype(int)
    found: list[tuple[float, float]] = []
    best = [(0.0, 0.0)] * (interval.max() + 1)
    for hz in np.arange(args.from_hz, args.to_hz, args.step_hz):
        wave = respond(course * np.exp(2j * np.pi * hz * time_s), at)
        found.append((explained(residual, wave), float(hz)))
        for k in range(len(best)):
            m = interval == k
            if m.sum() > 30:
                best[k] = max(best[k], (explained(residual[m], wave[m]), float(hz)))
    share, hz = max(found)
    middle = float(np.median([entry[0] for entry in found]))
    print(f"whole run: {100 * share:.1f} % at {hz:.2f} Hz, {1e3 / hz:.4f} ms (other frequencies: {100 * middle:.1f} %)")
    print("by 2 s:   " + ", ".join(f"{100 * share:.0f} % at {hz:.2f}" for share, hz in best if hz > 0))


if __name__ == "__main__":
    main()
