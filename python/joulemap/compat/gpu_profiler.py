"""The command `gpu_profiler` of gpu_power_profiler, on joulemap's estimates.

It writes the old files and columns into the current folder, followed by joulemap's own columns.
"""

from __future__ import annotations

import argparse
import csv
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from joulemap import Error, _core
from joulemap._csv import cell
from joulemap.ncu import Estimate, estimate

DATA = "extracted_data.csv"
FEATURES = "extracted_features.csv"
PREDICTIONS = "predictions.csv"

_MODES = {"min": ("min",), "avg": ("avg",), "peak": ("max",), "max": ("max",), "all": ("min", "avg", "max")}
_OURS = {"min": "power_min", "avg": "power_avg", "max": "power_peak"}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="gpu_profiler", description="Power of a GPU program from Nsight Compute's counters, on joulemap's models."
    )
    parser.add_argument("-m", "--mode", choices=tuple(_MODES), default="avg", help="which power to tell (default: avg)")
    parser.add_argument("-a", "--app", metavar="APP", help="run this program under ncu")
    parser.add_argument("-s", "--script", metavar="SCRIPT", help="its script and arguments")
    parser.add_argument("-c", "--csv", metavar="CSV", help="what ncu counted before; wins over -a")
    parser.add_argument("--model", help="a board's model, or h100, h200 (default: the kept one, else shipped)")
    parser.add_argument("--timeout", type=float, metavar="SECONDS", help="end the program after so long")
    return parser


def _newest(folder: Path) -> Path:
    """Return the newest extracted_data.csv of a folder and its subfolders."""
    found = sorted((*folder.glob(DATA), *folder.glob(f"*/{DATA}")), key=lambda path: path.stat().st_mtime)
    if not found:
        raise Error(
            f"no {DATA} in {folder.resolve()}: give a program to run (-a APP), or a file that ncu wrote (-c CSV)"
        )
    return found[-1]


def _data(arguments: argparse.Namespace) -> Path:
    """Return the file of counters; run ncu if a program is given."""
    if arguments.csv:
        if arguments.app:
            print(f"gpu_profiler: -c {arguments.csv} is taken, {arguments.app} is not run", file=sys.stderr)
        return Path(arguments.csv)
    if not arguments.app:
        if arguments.script:
            raise Error(f"which program runs {arguments.script}? give it too: -a python -s {arguments.script}")
        return _newest(Path())
    command = [*shlex.split(arguments.app), *shlex.split(arguments.script or "")]
    _core.estimate_profile(command, DATA, "details", arguments.model, arguments.timeout or 0, ())
    return Path(DATA)


def _predictions(name: str, modes: Sequence[str], found: Estimate) -> dict[str, Any]:
    """Return the row of predictions.csv: the old columns, then intervals, energy and the model."""
    totals = found.totals
    row: dict[str, Any] = {"filename": name}
    row.update({f"pred_{mode}": totals[f"{_OURS[mode]}_w"] for mode in modes})
    for mode in modes:
        row[f"pred_{mode}_low"] = totals[f"{_OURS[mode]}_low_w"]
        row[f"pred_{mode}_high"] = totals[f"{_OURS[mode]}_high_w"]
    energy = ("kernels_energy_j", "kernels_energy_low_j", "kernels_energy_high_j")
    row.update({name.replace("kernels_", ""): totals[name] for name in energy})
    row.update(kernels=totals["estimated"], kernels_s=totals["kernels_s"], extrapolated=totals["extrapolated"])
    row.update(model=found.model, board=found.board)
    return row


def _write(path: str, rows: Sequence[dict[str, Any]]) -> None:
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(rows[0])
        out.writerows([cell(value) for value in row.values()] for row in rows)


def run(arguments: argparse.Namespace) -> Estimate:
    """Run the command with parsed arguments; return the estimate."""
    modes = _MODES[arguments.mode]
    data = _data(arguments)
    result = estimate(data, model=arguments.model)
    Path(FEATURES).write_text(_core.estimate(str(data), arguments.model, 0, 0, 0, None, "f"), encoding="utf-8")
    _write(PREDICTIONS, [_predictions(data.name, modes, result)])
    for mode in modes:
        value, low, high = (result.totals[f"{_OURS[mode]}{end}_w"] for end in ("", "_low", "_high"))
        print(f"{mode} power: {value:.1f} W ({low:.0f} to {high:.0f} W hold 90 %)")
    for note in result.notes:
        print(note, file=sys.stderr)
    return result


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code."""
    arguments = _parser().parse_args(argv)
    try:
        run(arguments)
    except (Error, OSError) as error:
        print(f"gpu_profiler: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
