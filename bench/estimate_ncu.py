"""How well ncu's counters tell the power of kernels and programs that a sensor measured on the same board.

usage: python bench/estimate_ncu.py [--board h200|h100] [--joulemap COMMAND]

h200: tests/data/ncu; h100: tests/data/ncu-h100, and what the H200's counters tell of an H100.
"""

import argparse
import csv
import json
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
FOLDERS = {"h200": HERE / "tests" / "data" / "ncu", "h100": HERE / "tests" / "data" / "ncu-h100"}
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


def features_of(joulemap: str, data: Path, name: str) -> str:
    """Return what the board's model asks of each kernel of a file, as CSV."""
    how = ("--model", data / "model.json", "--power-limit", "none", "--format", "features")
    return ask(joulemap, "--csv", data / f"{name}.csv.gz", *how)


def show_trained(joulemap: str, data: Path, folder: Path) -> None:
    """Learn weights from ncu's counters alone; leave kernels and families out; tell programs."""
    features = list(csv.DictReader(features_of(joulemap, data, "suite").splitlines()))
    with (data / "suite-power.csv").open(newline="") as file:
        measured = [row for row in csv.DictReader(file) if row["data"] in REAL]
    names = [name for name in features[0] if name not in ("id", "kernel", "duration_s")]
    with (folder / "suite.csv").open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["kernel", "family", "power_w", *names])
        for row in measured:
            values = features[int(row["id"])]
            name = f"{row['kernel']} {row['data']}"
            out.writerow([name, row["kernel"].split("/")[0], row["power_w"], *(values[n] for n in names)])
    result = json.loads(ask(joulemap, "--train", folder / "suite.csv", "-o", folder / "trained.json", "--json"))
    print(f"trained on ncu's counters: {result['kernels']} kernels, exponent {result['exponent']:g}")
    print(f"  a kernel left out {100 * result['error_by_kernel']:.1f} %, its family left out ", end="")
    print(
        f"{100 * result['error_by_family']:.1f} % on average; intervals of 90 % held {100 * result['coverage']:.0f} %"
    )
    with (data / "programs.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            if not (data / f"{row['program']}.csv.gz").exists():
                continue  # measured there, not counted
            (folder / "program.csv").write_text(features_of(joulemap, data, row["program"]))
            told = ask(joulemap, "--csv", folder / "program.csv", "--model", folder / "trained.json", "--json")
            show_program(row, json.loads(told), "trained")


def show_program(row: dict[str, str], found: dict[str, float], model: str) -> None:
    """Compare an estimate with what the program drew."""
    watts = float(row["energy_j"]) / float(row["seconds"])
    joules = float(row["energy_j"]) / float(row["steps"])
    print(f"{row['program']:8} model {model}: {found['power_avg_w']:4.0f} W of {watts:4.0f} ", end="")
    print(f"({100 * (found['power_avg_w'] / watts - 1):+.1f} %), ", end="")
    print(f"{found['kernels_energy_j']:.3f} J a step of {joules:.3f} ", end="")
    print(f"({100 * (found['kernels_energy_j'] / joules - 1):+.1f} %), ", end="")
    print(f"90 %: {found['power_avg_low_w']:.0f} to {found['power_avg_high_w']:.0f} W")


def show_programs(joulemap: str, data: Path, model: str) -> None:
    """Compare programs that no model has seen with what they drew."""
    with (data / "programs.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            if not (data / f"{row['program']}.csv.gz").exists():
                continue
            told = ask(joulemap, "--csv", data / f"{row['program']}.csv.gz", "--model", model, "--json")
            show_program(row, json.loads(told), Path(model).name)


def show_what_if(joulemap: str, data: Path) -> None:
    """Tell an H100's programs from what an H200 counted of them."""
    with (data / "programs.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            counters = FOLDERS["h200"] / f"{row['program']}.csv.gz"
            for model in (str(FOLDERS["h200"] / "model.json"), "h100"):
                told = json.loads(ask(joulemap, "--csv", counters, "--board", "h100", "--model", model, "--json"))
                ms, took_ms = 1e3 * told["kernels_s"], 1e3 * float(row["seconds"]) / float(row["steps"])
                print(
                    f"what if on an H100: {ms:.2f} ms a step of {took_ms:.2f} ({100 * (ms / took_ms - 1):+.1f} %); ",
                    end="",
                )
                show_program(row, told, "of the H200, scaled" if model.endswith(".json") else model)


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--board", choices=list(FOLDERS), default="h200")
    parser.add_argument("--joulemap", default=str(HERE / "build" / "joulemap"))
    args = parser.parse_args()
    args.data = FOLDERS[args.board]
    own = str(args.data / "model.json")
    for model in (own, args.board):
        show_suite(args.joulemap, args.data, model)
    with tempfile.TemporaryDirectory() as folder:
        show_trained(args.joulemap, args.data, Path(folder))
    for model in (own, args.board):
        show_programs(args.joulemap, args.data, model)
    if args.board == "h100":
        show_what_if(args.joulemap, args.data)
    return 0


if __name__ == "__main__":
    sys.exit(main())
