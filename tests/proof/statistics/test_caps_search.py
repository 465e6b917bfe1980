"""What a search for a power cap proves of work of known length, on a machine that has nothing else to do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import joulemap
import pytest
from joulemap import caps
from joulemap.plots.caps import _saving
from paced_work import Law, Paced

QUICK: dict[str, Any] = {"settle_s": 0.01, "window_s": 0.06}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOULEMAP_SIM", "h200")
    monkeypatch.setenv("JOULEMAP_CAPS_DIR", str(tmp_path / "caps"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))


@pytest.fixture
def run() -> Iterator[joulemap.Session]:
    with joulemap.Session(cpu=False) as session:
        yield session


def cap_w() -> float | None:
    """Return the cap as the next one finds it."""
    with caps.lease() as lease:
        return lease.found.cap_w


def test_work_that_waits_for_memory_gets_a_lower_cap_with_a_proven_saving(run: joulemap.Session) -> None:
    found = caps.search(Law(run, slow=0.1), objective="energy", settle_s=0.01, window_s=0.4)
    assert found.verdict == "better", found.table()
    assert found.cap_w < found.reference_w == 700
    assert found.saving is not None
    assert 0 < found.saving.low <= found.saving.value <= found.saving.high
    assert found.trials[0].reference
    assert {trial.stage for trial in found.trials} == {"probe", "proof"}
    assert found.trials[0].energy_j == pytest.approx(found.trials[0].time_s * found.trials[0].power_w)
    assert cap_w() == 700
    assert "SIMULATED" not in found.table()
    assert "on a simulated GPU" in str(found)
    told = json.loads(found.to_json())
    assert (told["simulated"], told["gpu"]["index"], told["chosen_cap_w"]) == (True, 0, found.cap_w)
    assert found.plot(dpi=40).axes


def test_a_cap_that_makes_no_difference_is_told_as_that(run: joulemap.Session) -> None:
    work = Paced()
    found = caps.search(
        lambda: work.until_due(4e-3),  # draws less than the lowest cap
        sweep=3,
        sweep_rounds=1,
        proof=False,
        settle_s=0.01,
        window_s=0.6,
    )
    assert (found.verdict, found.cap_w, found.saving) == ("no difference", 700, None), found.table()


def test_the_bound_of_a_search_is_proven_or_told_to_be_open(run: joulemap.Session) -> None:
    law = Law(run, slow=0.1)
    found = caps.search(law, objective="energy", max_slowdown=0.5, settle_s=0.01, window_s=0.1)
    assert found.slowdown is not None
    assert found.bound_proven is (found.slowdown.high <= 0.5)
    told = found.to_dict()
    for proven in (True, False):
        told["proof"]["bound_proven"] = proven
        assert ("at most 50 % is not proven" in _saving(told)) is not proven
    assert caps.search(law, sweep=2, sweep_rounds=1, proof=False, **QUICK).bound_proven is None
