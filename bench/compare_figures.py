"""Compare the figures that two builds of joulemap give for the same recordings.

    bench/compare_figures.py OLD NEW [--keep FOLDER] [--data FOLDER] [--rows N] [RECORDING ...]

OLD and NEW are the commands (`build/joulemap`). Recordings may be packed by xz. The data sets of --data (default:
../shared/data, passed over if it is not there) are imported by OLD and reported by both ("gpt"), then imported and
reported by NEW ("gpt, imported by NEW"). Each recording is reported whole and phase by phase, a line a view:

    rows       how many, and how many of them differ: calls or busy time at all, energy by more than --tolerance
    energy     largest difference of a row, in J and as a share of OLD's interval (half of it)
    widths     least and largest ratio of a row's interval, NEW to OLD
    known      rows whose provenance is another
    total      difference of the total, and the ratio of its interval

--rows N names the N rows of a view that differ most, by their intervals. With --keep, recordings and what OLD said
stay in FOLDER and are taken from there the next time: OLD is run once. The exit code is 1 if anything differs.
"""

from __future__ import annotations

import argparse
import json
import lzma
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

VIEWS = ("layer", "type", "kernel", "phase", "board")
DATA = {
    "mixture": {"--readings": "h200-mixture/readings.csv", "--segments": "h200-mixture/segments.csv"},
    "gpt": {"--readings": "h200-gpt/readings.csv", "--kernels": "h200-gpt/kernels.csv.gz"},
}
PACKED = {"llama": "h200-counters-llama/run.joulemap.xz"}
WIDTH_TOLERANCE = 1e-6  # of an interval's length

Key = tuple[Any, ...]
Row = dict[str, Any]
Report = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """One recording, in a file for each of the two."""

    name: str
    old: Path
    new: Path


@dataclass(frozen=True)
class Difference:
    """One row, in both."""

    key: Key
    old: Row
    new: Row

    @property
    def energy_j(self) -> float:
        """By how much they differ."""
        return abs(float(self.new["energy_j"]) - float(self.old["energy_j"]))

    @property
    def share(self) -> float | None:
        """The same in half intervals of the old row; None where that has none."""
        half_j = width_j(self.old) / 2
        return self.energy_j / half_j if half_j > 0 else None

    @property
    def width(self) -> float | None:
        """Interval, new to old; None where there was none."""
        return width_j(self.new) / width_j(self.old) if width_j(self.old) > 0 else None

    @property
    def weight(self) -> float:
        """What puts one row before another: by how much of its interval it moved, or that changed."""
        return max(self.share or 0, abs((self.width or 1) - 1))

    def facts_differ(self, relative: float) -> bool:
        """Whether calls or busy time, which nobody estimates, are others."""
        busy_s = abs((self.new["busy_s"] or 0) - (self.old["busy_s"] or 0))
        return bool(self.new["calls"] != self.old["calls"] or busy_s > relative * (self.old["busy_s"] or 0) + 1e-9)


def width_j(row: Row) -> float:
    """Length of the interval; 0 if there is none."""
    low, high = row["energy_low_j"], row["energy_high_j"]
    return 0.0 if low is None or high is None else float(high) - float(low)


def by_key(report: Report) -> dict[Key, Row]:
    """Rows by what they stand for; those that are called alike are numbered."""
    seen: Counter[Key] = Counter()
    rows: dict[Key, Row] = {}
    for row in report["rows"]:
        key = (row["kind"], row["path"] or row["name"], row["depth"])
        seen[key] += 1
        rows[(key, seen[key])] = row
    return rows


def run(command: Path, *arguments: str | Path) -> str:
    """Standard output of joulemap; an end with its words if it fails."""
    done = subprocess.run([command, *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{command} {' '.join(map(str, arguments))}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


def report_of(command: Path, recording: Path, by: str, phase: str | None, kept: Path | None = None) -> Report:
    """One view; from `kept` if it is there."""
    if kept is not None and kept.exists():
        text = kept.read_text()
    else:
        selection = ["--phase", phase] if phase is not None else []
        text = run(command, "report", recording, "--by", by, "--json", *selection)
        if kept is not None:
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_text(text)
    report: Report = json.loads(text)
    return report


def prepare(old: Path, new: Path, data: Path, recordings: list[Path], folder: Path) -> list[Case]:
    """All recordings, made where they are not there."""
    cases = []
    packed = {data / path: name for name, path in PACKED.items() if (data / path).exists()}
    for path in [*recordings, *packed]:
        name = packed.get(path, path.name.split(".")[0])
        recording = path
        if path.suffix == ".xz":
            recording = folder / f"{name}.joulemap"
            if not recording.exists():
                with lzma.open(path) as source, recording.open("wb") as out:
                    shutil.copyfileobj(source, out)
        cases.append(Case(name, recording, recording))
    for name, files in DATA.items():
        if not all((data / file).exists() for file in files.values()):
            print(f"{name}: passed over, it is not in {data}")
            continue
        options = [str(word) for option, file in files.items() for word in (option, data / file)]
        by_old, by_new = folder / f"{name}.joulemap", folder / f"{name}-by-new.joulemap"
        if not by_old.exists():
            run(old, "import", "--board", "h200", *options, "-o", by_old)
        run(new, "import", "--force", "--board", "h200", *options, "-o", by_new)
        cases += [Case(name, by_old, by_old), Case(f"{name}, imported by NEW", by_old, by_new)]
    return cases


def told(d: Difference) -> str:
    """A row as both have it."""
    before, after = (f"{row['energy_j']:.6g} ±{width_j(row) / 2:.2g} J {row['provenance']}" for row in (d.old, d.new))
    return f"    {d.key[0][1]:.60} ({d.key[0][0]}): {before} -> {after}"


def total_row(report: Report) -> Row:
    """The total, as if it were a row."""
    low, high = report["total_energy_low_j"], report["total_energy_high_j"]
    return {"energy_j": report["total_energy_j"] or 0, "energy_low_j": low, "energy_high_j": high}


def compare(was: Report, now: Report, tolerance: float, show: int) -> list[str]:
    """Lines about one view; none if nothing differs."""
    old, new = by_key(was), by_key(now)
    both = [Difference(key, old[key], new[key]) for key in old if key in new]
    both.sort(key=lambda d: -d.weight)
    total = Difference((), total_row(was), total_row(now))
    limit_j = tolerance * float(was["total_energy_j"] or 0)
    differ = [d for d in both if d.energy_j > limit_j or d.facts_differ(tolerance)]
    known = [d for d in both if d.old["provenance"] != d.new["provenance"]]
    wider = [d for d in [*both, total] if d.width is not None and abs(d.width - 1) > WIDTH_TOLERANCE]
    gone = sorted(map(str, old.keys() ^ new.keys()))
    if not (differ or known or wider or gone or total.energy_j > limit_j):
        return []
    widths = [d.width for d in both if d.width is not None]
    shares = [d.share for d in both if d.share is not None]
    most_j = max((d.energy_j for d in both), default=0)
    lines = [
        f"rows {len(old)}, {len(differ)} differ, {len(gone)} came or went; "
        f"energy up to {most_j:.3g} J, {max(shares, default=0):.2g} intervals; "
        f"widths x{min(widths, default=1):.3g} to x{max(widths, default=1):.3g}; known otherwise {len(known)}; "
        f"total {total.new['energy_j'] - total.old['energy_j']:+.3g} J, its interval x{total.width or 1:.4g}"
    ]
    lines += [told(d) for d in both if d in differ or d in known or d in wider][:show]
    lines += [f"    came or went: {key:.100}" for key in gone[:show]]
    return lines


def main() -> int:
    """Compare all; 1 if anything differs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("recordings", type=Path, nargs="*")
    parser.add_argument("--keep", type=Path, help="where recordings and what OLD said stay")
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[2] / "shared/data")
    parser.add_argument("--tolerance", type=float, default=1e-9, help="of the total's energy (1e-9)")
    parser.add_argument("--rows", type=int, default=0, help="name so many rows that differ")
    asked = parser.parse_intermixed_args()
    found = 0
    with tempfile.TemporaryDirectory() as temporary:
        folder: Path = asked.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for case in prepare(asked.old, asked.new, asked.data, asked.recordings, folder):
            kept = folder / "said" / case.old.stem
            whole = report_of(asked.old, case.old, "phase", None, kept / "whole-phase.json")
            phases = list(dict.fromkeys(str(row["name"]) for row in whole["rows"] if row["kind"] == "phase"))
            views = differing = 0
            for phase in [None, *phases]:
                for by in VIEWS:
                    file = kept / f"{(phase or 'whole').replace('/', '_')}-{by}.json"
                    was = report_of(asked.old, case.old, by, phase, file)
                    lines = compare(was, report_of(asked.new, case.new, by, phase), asked.tolerance, asked.rows)
                    views += 1
                    differing += bool(lines)
                    for i, line in enumerate(lines):
                        print(line if i else f"{case.name}, {phase or 'whole'}, by {by}: {line}")
            print(f"{case.name}: {differing} of {views} views differ", flush=True)
            found += differing
    return min(found, 1)


if __name__ == "__main__":
    sys.exit(main())
