"""The power-cap profiler of De Feo's tools: the cap is put back, its file has what it promises, nothing is changed."""

from __future__ import annotations

import csv
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import joulemap
import pytest
import torch
from joulemap import caps, compat
from joulemap.compat.profiler import power_cap_profiler, reset_power_cap, set_power_cap
from joulemap.compat.profiler import search as profiler
from torch import nn

X = torch.ones(4, 8)


@pytest.fixture(autouse=True)
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[joulemap.Session]:
    monkeypatch.setenv("JOULEMAP_SIM", "h200")
    monkeypatch.setenv("JOULEMAP_CAPS_DIR", str(tmp_path / "caps"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setattr(compat, "isolation_s", 0.8)
    with joulemap.Session(cpu=False) as session:
        yield session
        reset_power_cap(0)


def cap_w() -> float | None:
    with caps.lease() as lease:
        return lease.found.cap_w


def test_a_cap_that_is_set_stands_until_it_is_reset_to_what_was_found() -> None:
    set_power_cap(0, 400)
    with pytest.raises(joulemap.Error) as taken:
        caps.lease()
    assert taken.value.status == "BUSY"
    set_power_cap(0, 300)  # the same lease
    with pytest.raises(joulemap.Error, match="200"):
        set_power_cap(0, 100)
    reset_power_cap(0)
    reset_power_cap(0)  # nothing is set: nothing to put back
    assert cap_w() == 700
    with pytest.raises(joulemap.Error):
        set_power_cap(0, 900)
    assert cap_w() == 700  # and the board is nobody's
    with pytest.raises(joulemap.NoDeviceError, match="no board with index 5"):
        set_power_cap(5, 400)
    with pytest.raises(joulemap.NoDeviceError, match="no board with index 5"):
        reset_power_cap(5)


PROGRAM = """
import os, signal, sys
from joulemap.compat.profiler import set_power_cap
set_power_cap(0, 333)
if sys.argv[1] == "killed":
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("ending", ["as it should", "killed"])
def test_a_cap_ends_with_its_program(ending: str) -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM, ending], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0 if ending == "as it should" else -9, "")
    until_s = time.monotonic() + 20
    while caps.show()[0].lease is not None and time.monotonic() < until_s:
        time.sleep(0.02)
    assert (caps.show()[0].lease, caps.show()[0].cap_w) == (None, 700)


def test_eight_caps_are_tried_and_the_rest_is_modelled(tmp_path: Path) -> None:
    model = nn.Linear(8, 2)
    path = tmp_path / "caps.csv"
    best = power_cap_profiler(model, [X, X], out_file=path, objective="edp")
    with path.open() as file:
        header, *rows, last = list(csv.reader(file))
    assert header == [
        "power cap (mW)",
        "batches",
        "GPU energy (kWh)",
        "EDP (J s)",
        "time of a batch (s)",
        "mean power (W)",
    ]
    assert len(rows) == 8
    assert [int(row[0]) for row in rows] == sorted({int(row[0]) for row in rows})
    assert (int(rows[0][0]), int(rows[-1][0])) == (200_000, 700_000)
    for row in rows:
        batches, kwh, edp, time_s, power_w = map(float, row[1:])
        assert 3.6e6 * kwh == pytest.approx(batches * time_s * power_w, rel=1e-6)
        assert edp == pytest.approx(time_s * time_s * power_w, rel=1e-6)
    assert last == ["Modeled Optimal Cap:", str(best)]
    assert cap_w() == 700


def test_the_modelled_cap_is_the_least_of_all_tried_or_not() -> None:
    search = joulemap._core.Search(200, 700, 700, objective="ed2p", step_w=10, sweep=8, rounds=1, proof=False)
    tried = set()
    while (trial := search.next()) is not None:
        cap = trial["cap_w"]
        tried.add(cap)
        power_w = min(cap, 600.0)
        search.tell(cap, 0.01 * (0.85 + 0.15 * (600 / power_w) ** 0.7), power_w)
    (board,) = caps.show()
    found = joulemap.types.CapSearch(search, board, 1)
    modelled = profiler.modelled_w(found)
    law = {cap: min(cap, 600) * (0.85 + 0.15 * (600 / min(cap, 600)) ** 0.7) ** 3 for cap in range(200, 701, 10)}
    assert law[round(modelled)] <= 1.03 * min(law.values())
    assert len(tried) == 8


def test_work_that_the_cap_does_not_touch_keeps_the_cap_that_was_found() -> None:
    search = joulemap._core.Search(200, 700, 650, step_w=10, sweep=8, rounds=1, proof=False)
    while (trial := search.next()) is not None:
        search.tell(trial["cap_w"], 0.01, 150.0 + 0.01 * trial["cap_w"] / 700)
    (board,) = caps.show()
    found = joulemap.types.CapSearch(search, board, 1)
    assert found.verdict == "no difference"
    assert profiler.modelled_w(found) == 650


def test_an_error_in_the_midst_leaves_the_cap_and_the_weights_as_they_were() -> None:
    model = nn.Linear(8, 2)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
    steps = iter(range(10_000))

    def loss_fn(output: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        if next(steps) == 25:
            raise OSError("in the midst")
        return nn.functional.cross_entropy(output, labels)

    set_power_cap(0, 500)
    with pytest.raises(OSError, match="in the midst"):
        power_cap_profiler(model, [(X, torch.zeros(4, dtype=torch.int64))], 0, True, loss_fn, optimizer)
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())
    assert len(optimizer.state) == 0
    set_power_cap(0, 500)  # the lease goes on
    reset_power_cap(0)
    assert cap_w() == 700


def test_an_unknown_objective_is_said(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="objective is one of ed2p, edp, energy, not 'ed3p'"):
        power_cap_profiler(nn.Linear(8, 2), [X], objective="ed3p")  # type: ignore[arg-type]
