"""Programs that are not Python's, on a real board: where their joules go, and what the labels cost.

For each program: the share of joules (idle ones aside) that is in a row of the program (a range of NVTX, a label of
Kokkos, a region of OpenACC), and the time of the run with those and without, taken in turns.

    python bench/gpu/native.py nvtx                       examples/nvtx_parts.cu, by nvcc
    pip install --target DIR peclet-dem-cu13
    PYTHONPATH=DIR python bench/gpu/native.py kokkos      grains in a box: 4,000 kernels' labels in 30 steps
    python bench/gpu/native.py openacc                    a stencil, by nvc
    python bench/gpu/native.py command -- ./program       any other, under `joulemap record` with --openacc

--sim h200 tries the script without a GPU.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import joulemap

EXAMPLES = Path(__file__).parents[2] / "examples"

GRAINS = """
import numpy as np
from peclet import dem
sim = dem.Simulation(capacity=40000)
sim.initialize_shape("sphere", 0.5)
sim.set_global_scale(0.01)
sim.set_domain(extent=(0.2, 0.2, 0.4), origin=(0, 0, 0), periodic=(True, True, False))
sim.add_plane(point=(0, 0, 0), normal=(0, 0, 1))
sim.set_positions((np.random.default_rng(0).random((10000, 3)) * [0.2, 0.2, 0.4]).astype(np.float32))
sim.set_gravity((0, 0, -9.81))
sim.set_solver_iterations(pos=10, vel=8)
sim.set_dt(1e-4)
sim.step(300)
"""

STENCIL = """
#include <stdlib.h>
#define N (1 << 26)
int main(void)
{
    float *a = calloc(N, 4), *b = calloc(N, 4);
#pragma acc data copy(a[0:N]) create(b[0:N])
    for (int step = 0; step < 500; step++) {
#pragma acc parallel loop present(a[0:N], b[0:N])
        for (int i = 1; i < N - 1; i++) b[i] = 0.5f * a[i] + 0.25f * (a[i - 1] + a[i + 1]) + 1;
#pragma acc parallel loop present(a[0:N], b[0:N])
        for (int i = 0; i < N; i++) a[i] = b[i];
    }
    return a[5] < 0;
}
"""


def built(program: str, folder: Path, command: list[str]) -> list[str]:
    """Return the command line of a program, compiled where it has to be."""
    binary = folder / program
    if program == "nvtx":
        subprocess.run(["nvcc", EXAMPLES / "nvtx_parts.cu", "-o", binary], check=True)
    elif program == "openacc":
        (folder / "stencil.c").write_text(STENCIL)
        subprocess.run(["nvc", "-O2", "-acc=gpu", folder / "stencil.c", "-o", binary], check=True)
    elif program == "kokkos":
        return [sys.executable, "-c", GRAINS]
    else:
        return command
    return [str(binary)]


def record(command: list[str], file: Path, labels: bool, sim: list[str]) -> float:
    """Return the seconds that the command took under the recorder."""
    away = {} if labels else {"KOKKOS_TOOLS_LIBS": "", "JOULEMAP_NVTX_DOMAINS": "none of them"}
    options = ["--openacc"] if labels else []
    subprocess.run(
        ["joulemap", "record", *sim, *options, "--no-counters", "-f", "-o", file, "--", *command],
        check=True,
        env=os.environ | away,
        stderr=subprocess.DEVNULL,
    )
    with contextlib.closing(sqlite3.connect(file)) as database:
        facts = dict(database.execute("SELECT key, value FROM meta WHERE key LIKE 'child_%_ns'"))
    return 1e-9 * (int(facts["child_end_ns"]) - int(facts["child_start_ns"]))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", choices=["nvtx", "kokkos", "openacc", "command"])
    parser.add_argument("command", nargs="*")
    parser.add_argument("--pairs", type=int, default=10, help="runs with labels and without, in turns")
    parser.add_argument("--sim")
    arguments = parser.parse_args()
    sim = ["--sim", arguments.sim] if arguments.sim else []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command = built(arguments.program, folder, arguments.command)
        ratios = []
        for _ in range(arguments.pairs):
            without = record(command, folder / "without.joulemap", False, sim)
            ratios.append(record(command, folder / "with.joulemap", True, sim) / without)
        with joulemap.Recording(folder / "with.joulemap") as recording:
            rows = [row for row in recording.report().rows if not row.name.startswith("(")]
            own = sum(row.energy_self_j for row in rows if row.kind == "nvtx")
            share = own / sum(row.energy_self_j for row in rows)
            print(f"{share:.2%} of the work's joules are in the program's own rows")
            print(f"{len(recording.timeline().spans)} spans, {sum(row.kind == 'nvtx' for row in rows)} rows")
    low, middle, high = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else ratios * 3
    print(f"time with labels over without: {middle:.3f} (quartiles {low:.3f}, {high:.3f}; {len(ratios)} pairs)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
