#!/usr/bin/env python3
"""Make readings.csv and segments.csv: ten seconds of three kernels whose power is known.

alpha takes 500 W, beta 300 W, gamma 200 W, nothing 120 W. Segments of 30 to 200 ms in random order, short gaps between
them; phase `first` is the first half, `second` the rest. The readings are those of an H200's ring: the power, decayed
with 12.5 ms, 3.5 ms late, every 20 ms, with 4 W of noise; and its counter, exact.
"""

import csv
import math
import random
from pathlib import Path

POWER_W = {"alpha": 500.0, "beta": 300.0, "gamma": 200.0, None: 120.0}
TAU_S, LAG_S, NOISE_W, END_S = 0.0125, 0.0035, 4.0, 10.0


def main() -> None:
    here = Path(__file__).parent
    rng = random.Random(20261120)
    pieces, segments, t = [(0.0, 0.5, None)], [], 0.5
    while t < END_S - 1:
        kernel, length, gap = rng.choice(["alpha", "beta", "gamma"]), rng.uniform(0.03, 0.2), rng.uniform(0.002, 0.02)
        pieces += [(t, t + length, kernel), (t + length, t + length + gap, None)]
        segments.append(("first" if t < END_S / 2 else "second", kernel, t, t + length, round(length / 0.001)))
        t += length + gap
    pieces.append((t, END_S + 1, None))

    with (here / "segments.csv").open("w", newline="") as out:
        write = csv.writer(out, lineterminator="\n").writerow
        write(["part", "kernel", "t_start_s", "t_end_s", "kernel_launches"])
        for part, kernel, start, end, launches in segments:
            write([part, kernel, f"{start:.6f}", f"{end:.6f}", launches])

    def decayed(t_s: float) -> float:
        """Power seen through the decay, from before the first piece on."""
        seen, at = POWER_W[None], 0.0
        for _start, end, kernel in pieces:
            stop = min(end, t_s - LAG_S)
            if stop <= at:
                break
            keep = math.exp(-(stop - at) / TAU_S)
            seen, at = POWER_W[kernel] + (seen - POWER_W[kernel]) * keep, stop
        return seen

    def energy(t_s: float) -> float:
        return sum(POWER_W[k] * max(0.0, min(end, t_s) - start) for start, end, k in pieces)

    with (here / "readings.csv").open("w", newline="") as out:
        write = csv.writer(out, lineterminator="\n").writerow
        write(["sensor", "t_s", "value"])
        for i in range(int(END_S / 0.02) + 1):
            write(["power_ring_w", f"{i * 0.02:.6f}", f"{decayed(i * 0.02) + rng.gauss(0, NOISE_W):.3f}"])
        for i in range(int(END_S / 0.1) + 1):
            write(["energy_counter_j", f"{i * 0.1:.6f}", f"{1000 + energy(i * 0.1):.3f}"])


main()
