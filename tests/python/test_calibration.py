"""The calibration suite: what it is made of, its order, and a recording of it beside the simulated board."""

from __future__ import annotations

import itertools
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import joulemap
import pytest
import torch
from joulemap import _core
from joulemap._burst import Burst, CpuPlayer
from joulemap.calibration import program
from joulemap.calibration.data import Data, Stock
from joulemap.calibration.kernel import RANDOM, Kernel, Scale
from joulemap.calibration.play import Account, planned_bursts
from joulemap.calibration.pointwise import of_one
from joulemap.calibration.prepare import ENOUGH_S, Entry, burst_seconds, chosen, make_ready
from joulemap.calibration.suite import KERNELS

CPU = torch.device("cpu")


def entry(name: str, family: str, call_s: float) -> Entry:
    """Return one whose bursts take no time."""
    chance = random.Random(1)
    calls = [max(1, round(length_s / call_s)) for length_s in burst_seconds(chance)]
    return Entry(name, family, "random", call_s, [Burst(n, "calls", lambda: 0.0, lambda: None) for n in calls])


def test_suite_holds_80_kernels_of_12_families_and_each_name_once() -> None:
    names = [kernel.name(size) for kernel in KERNELS for size in kernel.sizes]
    assert len(names) >= 80
    assert len({kernel.family for kernel in KERNELS}) >= 12
    assert [name for name, count in Counter(names).items() if count > 1] == []


def test_sizes_follow_the_board_in_their_first_number() -> None:
    half = Scale(0.5)
    assert half.apply((16384, 4096, 64)) == (8192, 4096, 64)
    assert half.apply((401408, 96)) == (200704, 96)
    assert half.apply((8,)) == (8,)
    assert Scale(0.3).apply((1000, 7))[0] % 8 == 0
    assert Scale().apply((4095, 3)) == (4095, 3)


def test_constants_and_zeros_are_of_a_handful_of_kernels() -> None:
    special = [kernel for kernel in KERNELS if "zeros" in kernel.data]
    assert 5 <= len(special) <= 15
    for kernel in special:
        assert [("zeros" in kernel.kinds(size)) for size in kernel.sizes] == [True] + [False] * (len(kernel.sizes) - 1)


def test_every_kernel_runs_in_small_or_says_why_not() -> None:
    ready = make_ready(CpuPlayer(), KERNELS, Scale(tiny=True), random.Random(0))
    wanted = sum(len(kernel.kinds(size)) for kernel in KERNELS for size in kernel.sizes)
    assert len(ready.entries) + sum(ready.reasons().values()) == wanted
    assert len({entry.name for entry in ready.entries}) >= 80
    # What this CPU cannot do PyTorch tells in its own words.
    ours = ("TypeError", "AttributeError", "NameError")
    wrong = [reason for reason in ready.left_out if reason.split(":")[0] in ours]
    assert wrong == []


def test_a_kernel_that_fails_is_left_out_and_counted() -> None:
    def fail(_x: torch.Tensor) -> object:
        raise RuntimeError("not on this board\nadvice")

    kernels = [Kernel("a", "b", of_one(fail), torch.float32, [(64,), (128,)], RANDOM)]
    ready = make_ready(CpuPlayer(), kernels, Scale(tiny=True), random.Random(0))
    assert ready.entries == []
    assert ready.reasons() == {"RuntimeError: not on this board": 2}


def test_few_seconds_of_a_simulated_board_are_for_kernels_of_many_families() -> None:
    few = chosen(KERNELS, 8.0)
    assert len(few) == int(8.0 / ENOUGH_S)
    assert len({kernel.family for kernel in few}) == len(few)
    assert all(len(kernel.sizes) == len(kernel.data) == 1 for kernel in few)
    assert len(chosen(KERNELS, 1e4)) == len(KERNELS)


def test_trained_activations_are_half_zero_with_channels_that_stand_out() -> None:
    values = Data(Stock(CPU, 1 / 64), "trained", torch.float32).take(512, 1024)
    assert (values == 0).float().mean().item() == pytest.approx(0.5, abs=0.01)
    largest = values.square().mean(0).sqrt().sort(descending=True).values
    assert largest[5] > 10 * largest[6]


def test_what_a_kernel_takes_does_not_overlap_nor_change_what_others_take() -> None:
    stock = Stock(CPU, 1 / 64)
    data = Data(stock, "random", torch.float32)
    first, second = data.take(100, 10), data.take(100, 10)
    assert first.data_ptr() + first.nbytes <= second.data_ptr()
    own = Data(stock, "random", torch.float32).own(100, 10)
    assert torch.equal(own, first)
    own.zero_()
    assert first.abs().sum() > 0


def test_all_kernels_get_equal_time_in_an_order_that_does_not_repeat() -> None:
    entries = [entry(f"k{i}", "elementwise", call_s) for i, call_s in enumerate((10e-6, 200e-6, 1e-3, 3e-3))]
    played: Counter[str] = Counter()
    seconds: dict[str, float] = dict.fromkeys((one.name for one in entries), 0.0)
    order = []
    for planned in planned_bursts(entries, random.Random(3)):
        seconds[planned.entry.name] += planned.burst.calls * planned.entry.call_s
        played[planned.entry.name] += 1
        order.append(planned.entry.name)
        assert planned.gap_s >= 0
    assert all(ENOUGH_S <= s < ENOUGH_S + 21e-3 for s in seconds.values())
    pairs = Counter(itertools.pairwise(order))
    assert len(pairs) > 10  # of 12


def test_heavy_kernels_rest_enough_to_stay_below_the_limit() -> None:
    """Mean power, at 1.35 times the limit while playing and a quarter of it at rest, over any half second."""
    entries = [entry(f"product/{i}", "product", 500e-6) for i in range(4)]
    powers: list[tuple[float, float]] = []  # seconds, power
    for planned in planned_bursts(entries, random.Random(5)):
        powers += [(planned.gap_s, 0.25), (planned.burst.calls * planned.entry.call_s, 1.35)]
    total_s = sum(seconds for seconds, _ in powers)
    assert sum(seconds * power for seconds, power in powers) / total_s <= 1.0


def test_rest_before_a_burst_brings_the_mean_to_the_limit_and_not_below() -> None:
    account = Account(level=0.94)
    rest_s = account.rest_before(1.35, 10e-3)
    account.add(0.25, rest_s)
    account.add(1.35, 10e-3)
    assert account.level == pytest.approx(0.95, abs=1e-6)


def test_recording_has_a_window_a_burst_named_and_typed_inside_the_phase(tmp_path: Path) -> None:
    path = tmp_path / "suite.joulemap"
    with program.session(path, CPU, overwrite=False) as run:
        ready, played = program.calibrate(run, CPU, 1.0, 0, idle_s=0.1, response_s=0.3)
    recording = joulemap.Recording(path)
    assert {row.path for row in recording.report("phase").rows} >= {"idle", "suite", "response"}
    rows = [row for row in recording.report("span", phase="suite").rows if row.kind == "window"]
    assert len(rows) == played.bursts
    known = {(entry.name, entry.data) for entry in ready.entries}
    with sqlite3.connect(path) as file:
        spans = file.execute(
            "SELECT n.text, t.text FROM spans s JOIN names n ON n.id = s.name_id JOIN names t ON t.id = s.type_id"
            " WHERE s.kind_id = ?",
            (_core.SPAN_KINDS["window"],),
        ).fetchall()
    assert len(spans) > played.bursts  # with those of the square wave
    assert set(spans) <= known


def test_without_a_suite_only_a_square_wave_is_played_and_no_counters_are_sampled(tmp_path: Path) -> None:
    path = tmp_path / "wave.joulemap"
    with program.session(path, CPU, overwrite=False, counters=False) as run:
        ready, played = program.calibrate(run, CPU, 0.0, 0, idle_s=0.05, response_s=0.5)
    assert {entry.family for entry in ready.entries} == {"product"}
    assert played.bursts == 0
    recording = joulemap.Recording(path)
    assert {row.path for row in recording.report("phase").rows if row.depth == 0} >= {"idle", "response"}
    assert recording.report("board").quality.sampler_energy_j in (None, 0.0)
    work = [row for row in recording.report("layer").rows if row.name.startswith("product/")]
    assert work
    assert work[0].energy_j
    assert work[0].busy_s > 0


def test_a_suite_that_a_signal_ends_has_its_exit_code_and_a_whole_recording(tmp_path: Path) -> None:
    path = tmp_path / "suite.joulemap"
    words = ["--device", "cpu", "--seconds", "1", "--idle", "600", "--response", "0", "-o", str(path)]
    suite = subprocess.Popen([sys.executable, "-m", "joulemap.calibration", *words], stderr=subprocess.DEVNULL)
    while not path.exists():  # in its rest, or before it
        assert suite.poll() is None
        time.sleep(0.01)
    suite.terminate()
    assert suite.wait() == 128 + signal.SIGTERM
    assert not path.with_name("suite.joulemap-wal").exists()
    assert joulemap.Recording(path).report("board").rows


def test_without_a_gpu_the_command_says_what_is_missing(tmp_path: Path) -> None:
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    done = subprocess.run(
        [sys.executable, "-m", "joulemap.calibration", "-o", str(tmp_path / "x")], capture_output=True, text=True
    )
    assert done.returncode == program.EXIT_NOT_SUPPORTED
    assert "without CUDA" in done.stderr or "finds no GPU" in done.stderr
    assert not (tmp_path / "x").exists()
