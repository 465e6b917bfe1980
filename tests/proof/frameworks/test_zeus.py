"""Zeus beside the simulated board."""

from __future__ import annotations

import time

import pytest
from on_board import Run, on_board

__all__ = ["on_board"]  # a fixture


def zeus_window() -> float:
    from zeus.device.gpu import get_gpus

    gpus = get_gpus()
    time.sleep(0.2)
    first: int = gpus.get_total_energy_consumption(0)
    begin = time.monotonic()
    time.sleep(1.0)
    used_mj: int = gpus.get_total_energy_consumption(0) - first
    return used_mj / 1e3 / (time.monotonic() - begin)


def test_zeus_itself_measures_the_board(on_board: Run) -> None:
    pytest.importorskip("zeus.device.gpu", reason="Zeus is not installed")
    watts = on_board(zeus_window, script="0,60,450,steady\n")
    assert abs(watts - 450) < 450 * 0.25  # two ticks of 100 ms on a second
