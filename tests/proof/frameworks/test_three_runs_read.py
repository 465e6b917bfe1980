"""Three programs on real GPUs (tests/data/runs), as pyarrow reads what is written of them."""

from __future__ import annotations

from pathlib import Path

import joulemap
import pyarrow.parquet
import pytest
from recorded import unpack

CLOSE = 0.005  # issue 8: within 0.5 %


@pytest.fixture(scope="module", params=["llama", "cnn", "pair"])
def recording(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack(request.param, tmp_path_factory.mktemp("recording"))


@pytest.fixture(scope="module")
def total_j(recording: Path) -> float:
    with joulemap.Recording(recording) as file:
        total = file.report().totals.total_energy_j
    assert total is not None and total > 100
    return total


def test_parquet(recording: Path, total_j: float, tmp_path: Path) -> None:
    with joulemap.Recording(recording) as file:
        file.report().to_parquet(tmp_path / "rows.parquet")
    table = pyarrow.parquet.read_table(tmp_path / "rows.parquet")
    assert sum(table.column("energy_self_j").to_pylist()) == pytest.approx(total_j, rel=CLOSE)
