"""How well ncu's counters tell the power of H200 kernels and programs that a sensor measured (tests/data/ncu).

usage: python bench/estimate_h200.py [--data FOLDER] [--joulemap COMMAND]
"""

import argparse
import csv
import json
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
REAL = ("random", "trained")
SHORT_S = 25e-6


def ask(joulemap: str, *arguments: str | Path) -> str:
    """Run the command."""
    return subprocess.run([joulemap, "estimate", *arguments], check=True, capture_output=True, text=True).stdout


def mean(values: list[float]) -> float:
    """Return the mean."""
    return sum(values) / len(values)


def show_suite(joulemap: str, data: Path, model: str) -> None:
    """Compare kernels of the suite with the power sensor."""
    rows = json.loads(
        ask(joulemap, "--csv", data / "suite.csv.gz", "--model", model, "--power-limit", "none", "--json")
    )
    rows = rows["rows"]
    with (data / "suite-power.csv").open(newline="") as file:
        measured = list(csv.DictReader(file))
    for what, short in (("all", False), ("of 25 us and more", True)):
        pairs = [(rows[int(m["id"])], float(m["power_w"])) for m in measured if m["data"] in REAL]
        pairs = [(row, watts) for row, watts in pairs if not short or row["duration_s"] >= SHORT_S]
        errors = sorted(abs(row["power_w"] / watts - 1) for row, watts in pairs)
        held = mean([float(row["power_low_w"] <= watts <= row["power_high_w"]) for row, watts in pairs])
        print(
            f"suite, model {Path(model).name}, {what}: {len(pairs)} kernels, {100 * mean(errors):.1f} % on average, ",
            end="",
        )
        print(f"{100 * errors[len(errors) // 2]:.1f} % in the middle; intervals of 90 % held {100 * held:.0f} %")
    constant = [(rows[int(m["id"])], float(m["power_w"])) for m in measured if m["data"] not in REAL]
    held = mean([float(row["power_low_w"] <= watts <= row["power_high_w"]) for row, watts in constant])
    print(f"  on constant data: {len(constant)} kernels, intervals held {100 * held:.0f} %")


def show_families(joulemap: str, data: Path) -> None:
    """Learn weights from ncu's counters alone, without one family at a time."""
    text = ask(joulemap, "--csv", data / "suite.csv.gz", "--model", data / "model.json", "--power-limit", "none",
               "--format", "features")  # fmt: skip
    features = list(csv.DictReader(text.splitlines()))
    with (data / "suite-power.csv").open(newline="") as file:
        measured = [row for row in csv.DictReader(file) if row["data"] in REAL]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "features.csv"
        with path.open("w", newline="") as file:
            names = [name for name in features[0] if name not in ("id", "kernel", "duration_s")]
            out = csv.writer(file)
            out.writerow(["kernel", "family", "power_w", *names])
            for row in measured:
                values = features[int(row["id"])]
                name = f"{row['kernel']} {row['data']}"
                out.writerow([name, row["kernel"].split("/")[0], row["power_w"], *(values[n] for n in names)])
        result = json.loads(ask(joulemap, "--train", path, "--json"))
    print(f"trained on ncu's counters: {result['kernels']} kernels, exponent {result['exponent']:g}")
    print(f"  a kernel left out {100 * result['error_by_kernel']:.1f} %, its family left out ", end="")
    print(
        f"{100 * result['error_by_family']:.1f} % on average; intervals of 90 % held {100 * result['coverage']:.0f} %"
    )


def show_programs(joulemap: str, data: Path, model: str) -> None:
    """Compare programs that no model has seen with what they drew."""
    with (data / "programs.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            found = json.loads(ask(joulemap, "--csv", data / f"{row['program']}.csv.gz", "--model", model, "--json"))
            watts = float(row["energy_j"]) / float(row["seconds"])
            joules = float(row["energy_j"]) / float(row["steps"])
            print(f"{row['program']:8} model {Path(model).name}: ", end="")
            print(
                f"{found['power_avg_w']:4.0f} W of {watts:4.0f} ({100 * (found['power_avg_w'] / watts - 1):+.1f} %), ",
                end="",
            )
            print(f"{found['kernels_energy_j']:.3f} J a step of {joules:.3f} ", end="")
            print(f"({100 * (found['kernels_energy_j'] / joules - 1):+.1f} %), ", end="")
            print(f"90 %: {found['power_avg_low_w']:.0f} to {found['power_avg_high_w']:.0f} W")


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=HERE / "tests" / "data" / "ncu")
    parser.add_argument("--joulemap", default=str(HERE / "build" / "joulemap"))
    args = parser.parse_args()
    own = str(args.data / "model.json")
    for model in (own, "h200"):
        show_suite(args.joulemap, args.data, model)
    show_families(args.joulemap, args.data)
    for model in (own, "h200"):
        show_programs(args.joulemap, args.data, model)
    return 0


if __name__ == "__main__":
    sys.exit(main())
