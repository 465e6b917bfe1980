"""The generator of recordings: its files agree with each other and with its truth."""

from __future__ import annotations

import csv
import math
import os
import subprocess
from pathlib import Path

import pytest

BUILD = Path(os.environ.get("JOULEMAP_BUILD", Path(__file__).parents[2] / "build"))
TOOL = BUILD / "sim" / "joulemap-simulate"

Rows = list[dict[str, str]]


def simulate(out: Path, *options: str) -> dict[str, Rows]:
    subprocess.run([TOOL, "--out", out, *options], check=True)
    found = {}
    for name in ("readings", "segments", "kernels", "truth"):
        with (out / f"{name}.csv").open(newline="") as file:
            found[name] = list(csv.DictReader(file))
    return found


def sensor(rows: Rows, name: str) -> list[tuple[float, float]]:
    return [(float(row["t_s"]), float(row["value"])) for row in rows if row["sensor"] == name]


def test_truth_is_the_sum_of_the_kernels_and_the_counter(tmp_path: Path) -> None:
    files = simulate(tmp_path, "--seed", "7", "--seconds", "10", "--order", "random", "--repeat-ms", "8")
    truth = {row["name"]: row for row in files["truth"]}
    busy: dict[str, float] = {}
    for row in files["kernels"]:
        busy[row["kernel"]] = busy.get(row["kernel"], 0) + float(row["duration_us"]) / 1e6
    assert len(busy) == 12
    for name, seconds in busy.items():
        assert seconds == pytest.approx(float(truth[name]["busy_s"]), abs=1e-6)
    parts = sum(float(row["energy_j"]) for row in files["truth"] if row["name"] != "(total)")
    total = float(truth["(total)"]["energy_j"])
    assert parts == pytest.approx(total, abs=1e-6)
    # The counter's first and last tick lie within the recording, where the board idles at 123 W.
    counter = sensor(files["readings"], "energy_counter_j")
    span = counter[-1][0] - counter[0][0]
    idle = (span - float(truth["(total)"]["busy_s"])) * 123
    assert counter[-1][1] - counter[0][1] == pytest.approx(total + idle, abs=0.02)


def test_a_segment_holds_its_kernels(tmp_path: Path) -> None:
    program = tmp_path / "program.csv"
    program.write_text("name,duration_us,power_w,calls\nlong,800,550,10\nshort,40,300,25\n")
    files = simulate(tmp_path, "--program", str(program), "--seconds", "2", "--part", "train", "--gap-us", "3")
    assert {row["kernel"] for row in files["segments"]} == {"long", "short"}
    calls = {"long": "10", "short": "25"}
    kernels = iter(files["kernels"])
    for row in files["segments"][:-1]:
        assert row["kernel_launches"] == calls[row["kernel"]] and row["part"] == "train"
        inside = [next(kernels) for _ in range(int(row["kernel_launches"]))]
        assert {kernel["kernel"] for kernel in inside} == {row["kernel"]}
        assert float(inside[0]["t_start_s"]) == pytest.approx(float(row["t_start_s"]), abs=1e-9)
        end = float(inside[-1]["t_start_s"]) + float(inside[-1]["duration_us"]) / 1e6
        assert end == pytest.approx(float(row["t_end_s"]), abs=2e-9)
    truth = {row["name"]: row for row in files["truth"]}
    for name, watts in (("long", 550), ("short", 300)):
        assert float(truth[name]["energy_j"]) / float(truth[name]["busy_s"]) == pytest.approx(watts, rel=1e-6)


def test_ring_is_unbiased_and_as_noisy_as_the_profile_says(tmp_path: Path) -> None:
    program = tmp_path / "program.csv"
    program.write_text("steady,1000,400\n")
    files = simulate(tmp_path, "--program", str(program), "--seconds", "60", "--gap-us", "0", "--spread", "0")
    ring = [value for t, value in sensor(files["readings"], "power_ring_w") if 1 < t < 60]
    mean = sum(ring) / len(ring)
    deviation = math.sqrt(sum((value - mean) ** 2 for value in ring) / len(ring))
    assert len(ring) == pytest.approx(59 / 0.02, abs=2)
    assert mean == pytest.approx(400, rel=0.001)  # 3000 values of 4 W noise: 0.07 W
    assert deviation == pytest.approx(4, rel=0.05)  # 1.3 % expected


def test_the_same_seed_gives_the_same_recording_and_another_one_another(tmp_path: Path) -> None:
    for name, seed in (("a", "3"), ("b", "3"), ("c", "4")):
        simulate(tmp_path / name, "--seed", seed, "--seconds", "2", "--order", "random")
    for file in ("readings.csv", "segments.csv", "kernels.csv", "truth.csv"):
        first = (tmp_path / "a" / file).read_bytes()
        assert first == (tmp_path / "b" / file).read_bytes()
        assert first != (tmp_path / "c" / file).read_bytes()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--profile", "h300"], "no board profile"),
        (["--order", "sideways"], "does not do here"),
        (["--program", "/nowhere"], "No such file"),
        (["--classes", "0"], "does not do here"),
    ],
)
def test_what_it_cannot_do_it_says(tmp_path: Path, options: list[str], says: str) -> None:
    result = subprocess.run([TOOL, "--out", tmp_path, *options], capture_output=True, text=True)
    assert result.returncode == 2
    assert says in result.stderr
