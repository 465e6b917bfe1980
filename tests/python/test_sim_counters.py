"""The counters of a generated recording: weighed, they are the power of its work, but for what its data are worth."""

from __future__ import annotations

import csv
import itertools
import os
import subprocess
from pathlib import Path

import pytest

BUILD = Path(os.environ.get("JOULEMAP_BUILD", Path(__file__).parents[2] / "build"))
TOOL = BUILD / "sim" / "joulemap-simulate"
WINDOW_S = 1e-3
SPREAD = 0.04  # between names, at equal counters

Rows = list[dict[str, str]]


def simulate(out: Path, program: str, *options: str) -> dict[str, Rows]:
    out.mkdir(exist_ok=True)
    (out / "program.csv").write_text("name,duration_us,power_w\n" + program)
    given = ["--program", str(out / "program.csv")] if program else []
    subprocess.run([TOOL, "--out", out, "--counters", *given, *options], check=True)
    found = {}
    for name in ("segments", "kernels", "truth", "counters", "counters_truth"):
        with (out / f"{name}.csv").open(newline="") as file:
            found[name] = list(csv.DictReader(file))
    return found


def weights(files: dict[str, Rows]) -> dict[str, float]:
    return {row["metric"]: float(row["weight"]) for row in files["counters_truth"]}


def weighed_j(files: dict[str, Rows]) -> float:
    """Return the joules above idle that the weights make of all windows."""
    total = 0.0
    for metric, weight in weights(files).items():
        seconds = WINDOW_S if ".pct" in metric else 1.0
        if metric != "(constant)":
            total += weight * seconds * sum(float(row[metric]) for row in files["counters"])
    return total


def above_idle_j(files: dict[str, Rows]) -> float:
    idle_w = weights(files)["(constant)"]
    work = [row for row in files["truth"] if not row["name"].startswith("(")]
    return sum(float(row["energy_j"]) - idle_w * float(row["busy_s"]) for row in work)


def test_windows_follow_each_other_from_begin_to_end_and_are_zero_at_rest(tmp_path: Path) -> None:
    files = simulate(tmp_path, "only,800,400\n", "--seconds", "2", "--gap-us", "0")
    windows = [(int(row["start_ns"]), int(row["end_ns"])) for row in files["counters"]]
    assert windows[0][0] == -1_500_000_000
    assert windows[-1][1] == pytest.approx(3.5e9, abs=2e6)
    assert all(end - start == 1_000_000 for start, end in windows)
    assert all(before[1] == after[0] for before, after in itertools.pairwise(windows))
    metrics = [name for name in weights(files) if name != "(constant)"]
    for row, (start, end) in zip(files["counters"], windows, strict=True):
        if end <= 0 or start >= 2_001_000_000:
            assert all(float(row[metric]) == 0 for metric in metrics)


def test_a_window_has_the_share_of_the_work_in_it(tmp_path: Path) -> None:
    """Kernels of 0.3 ms with gaps: what a window counts is what ran in it, to the noise of 1 %."""
    files = simulate(tmp_path, "only,300,400\n", "--seconds", "2", "--gap-us", "400")
    busy_ns = [0.0] * len(files["counters"])
    for row in files["kernels"]:
        start = float(row["t_start_s"]) * 1e9 + 1.5e9
        end = start + float(row["duration_us"]) * 1e3
        for window in range(int(start // 1e6), int(end // 1e6) + 1):
            busy_ns[window] += max(0.0, min(end, (window + 1) * 1e6) - max(start, window * 1e6))
    for metric in weights(files):
        if metric == "(constant)":
            continue
        values = [float(row[metric]) for row in files["counters"]]
        rate = sum(values) / sum(busy_ns)
        for value, busy in zip(values, busy_ns, strict=True):
            assert value == pytest.approx(rate * busy, rel=0.06, abs=rate * 10)


@pytest.mark.parametrize("seed", ["1", "2", "3"])
def test_the_weights_give_the_power_of_any_work(tmp_path: Path, seed: str) -> None:
    files = simulate(tmp_path, "", "--seconds", "3", "--seed", seed)
    assert weighed_j(files) == pytest.approx(above_idle_j(files), rel=SPREAD)


@pytest.mark.parametrize(("name", "factor"), [("gemm_zeros", 0.6), ("fill_constant", 0.6)])
def test_work_on_zeros_draws_less_at_equal_counters(tmp_path: Path, name: str, factor: float) -> None:
    files = simulate(tmp_path, f"{name},500,400\n", "--seconds", "3")
    assert above_idle_j(files) / weighed_j(files) == pytest.approx(factor, rel=0.002)


def test_a_throttled_board_counts_the_same_and_draws_less(tmp_path: Path) -> None:
    """A limit of 700 W, and work of 900 W: the clock falls, the work is not slowed."""
    free = simulate(tmp_path / "free", "gemm,500,690\n", "--seconds", "3", "--gap-us", "0")
    held = simulate(tmp_path / "held", "gemm,500,900\n", "--seconds", "3", "--gap-us", "0")
    assert weighed_j(held) / weighed_j(free) == pytest.approx((900 - 123) / (690 - 123), rel=0.002)
    assert above_idle_j(held) / above_idle_j(free) == pytest.approx((700 - 123) / (690 - 123), rel=0.002)


def test_the_suite_comes_first_in_bursts_of_one_class_each(tmp_path: Path) -> None:
    files = simulate(tmp_path, "", "--seconds", "1", "--suite", "4", "--suite-classes", "16")
    suite = [row for row in files["segments"] if row["phase"] == "suite"]
    live = [row for row in files["segments"] if row["part"] == "live"]
    assert suite + live == files["segments"]
    assert all(row["part"] == row["kernel"] for row in suite) and all(row["phase"] == "" for row in live)
    names = {row["kernel"] for row in suite}
    assert len(names) == 16 and sum(name.endswith("_zeros") for name in names) == 2
    assert names.isdisjoint(row["kernel"] for row in live)
    times = [(float(row["t_start_s"]), float(row["t_end_s"])) for row in suite]
    assert times[-1][1] == pytest.approx(4, abs=0.04)
    assert all(0.9e-3 < end - start < 21e-3 for start, end in times[:-1])
    gaps = [after[0] - before[1] for before, after in itertools.pairwise(times)]
    assert all(0 <= gap < 12.1e-3 for gap in gaps)
    assert sum(gaps) / len(gaps) == pytest.approx(6e-3, rel=0.2)
