"""How well a trained model tells the power of V100 kernels that it has not seen (AccelWattch's counters and watts).

usage: python bench/estimate_volta.py [--data FOLDER] [--joulemap COMMAND] [--keep FOLDER]

Reads hw_perf.csv and hw_power.csv, turns counts into rates of the whole chip, and lets `joulemap estimate --train`
leave out each kernel, and each program, in turn. What is chosen (the exponent) is chosen without what it is judged by.
"""

import argparse
import csv
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
MULTIPROCESSORS = 80

# Names of hw_perf.csv that hw_power.csv shortens.
SHORT = {
    "b+tree-rodinia-3.1": "btree",
    "backprop-rodinia-3.1": "backprop",
    "hotspot-rodinia-3.1": "hotspot",
    "kmeans-rodinia-3.1": "kmeans",
    "srad_v1-rodinia-3.1": "srad_v1",
    "parboil-sad": "parboil_sad",
    "parboil-sgemm": "parboil_sgemm",
    "parboil-mri-q": "parboil_mriq",
}


def name_of(benchmark: str, seen: dict[str, int]) -> tuple[str, str]:
    """Return a row's name in hw_power.csv, and its program: kernels of a program are numbered in their order."""
    numbered = re.fullmatch(r"cutlass_perf_test_(k\d+)", benchmark)
    if numbered:
        return f"cutlass_{numbered[1]}", "cutlass"
    program = SHORT.get(benchmark, benchmark)
    seen[program] = seen.get(program, 0) + 1
    return f"{program}_k{seen[program]}", program


def features_of(row: dict[str, str]) -> dict[str, float]:
    """Return rates of the whole chip: duties of units, and accesses a cycle of the caches and the memory."""
    count = {key: float(value) for key, value in row.items() if key not in ("Benchmark", "Kernel")}
    cycles = count["Elapsed_Cycles"]
    active = 1 - count["Num_Idle_SMs"] / MULTIPROCESSORS
    return {
        "active": active,
        "pipelines": count["Pipeline_Duty"] * active,
        "l1_read_hits": count["L1_RH"] / cycles,
        "shared": count["SHRD_ACC"] / cycles,
        "l2": sum(count[key] for key in ("L2_RH", "L2_RM", "L2_WH", "L2_WM")) / cycles,
        "dram": (count["DRAM_Rd"] + count["DRAM_Wr"]) / cycles,
    }


def write_tables(data: Path, to: Path) -> None:
    """Write features.csv and power.csv as `joulemap estimate --train` reads them."""
    seen: dict[str, int] = {}
    with (data / "hw_perf.csv").open(newline="") as file:
        rows = [(*name_of(row["Benchmark"], seen), features_of(row)) for row in csv.DictReader(file)]
    with (to / "features.csv").open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["kernel", "family", *rows[0][2]])
        out.writerows([kernel, family, *features.values()] for kernel, family, features in rows)
    with (data / "hw_power.csv").open(newline="") as file, (to / "power.csv").open("w", newline="") as target:
        out = csv.writer(target)
        out.writerow(["kernel", "power_w", "u_w"])
        out.writerows([row[""], row["mean HW_power"], row["st_dev"]] for row in csv.DictReader(file))


def train(joulemap: str, folder: Path) -> dict:
    """Train on the two tables of a folder."""
    command = [joulemap, "estimate", "--train", folder / "features.csv", "--power", folder / "power.csv", "--json"]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def show(result: dict) -> None:
    """Print what was found."""
    print(f"{'kernel':24} {'watts':>7} {'left out':>9} {'error':>8}")
    for row in result["rows"]:
        print(f"{row['kernel']:24} {row['power_w']:7.1f} {row['left_out_w']:9.1f} {100 * row['error']:+7.1f} %")
    print()
    print("mean absolute relative error of a kernel that the model has not seen")
    print(f"  the mean of the others                {100 * result['constant_error']:5.2f} %")
    print(f"  plain non-negative least squares      {100 * result['plain_error']:5.2f} %")
    print(f"  joulemap estimate --train             {100 * result['error_by_kernel']:5.2f} %  ", end="")
    print(f"(exponent {result['exponent']:g})")
    print(f"  the same, its whole program left out  {100 * result['error_by_family']:5.2f} %")
    print(
        f"in the middle {100 * result['median_by_kernel']:.2f} %, at worst {100 * result['worst_by_kernel']:.1f} %; ",
        end="",
    )
    print(f"intervals of 90 % held {100 * result['coverage']:.0f} %")
    for note in result["notes"]:
        print(note)


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=HERE.parent / "shared" / "data" / "accelwattch-volta")
    parser.add_argument("--joulemap", default=str(HERE / "build" / "joulemap"))
    parser.add_argument("--keep", type=Path, help="write the two tables there")
    args = parser.parse_args()
    if not (args.data / "hw_perf.csv").exists():
        print(f"{args.data}: no hw_perf.csv there (AccelWattch's Volta data)", file=sys.stderr)
        return 66
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        write_tables(args.data, folder)
        result = train(args.joulemap, folder)
    show(result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
