"""Processes that find the simulated board where NVIDIA's library would be."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest

BUILD = Path(os.environ.get("JOULEMAP_BUILD", Path(__file__).parents[2] / "build"))
LIBRARY = BUILD / "sim" / "libnvidia-ml.so.1"

Run = Callable[..., Any]


@pytest.fixture
def on_board(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return a function that runs another in a process that finds the simulated board, with this environment."""
    assert LIBRARY.exists(), "build the simulated board first (make build)"
    for name in [name for name in os.environ if name.startswith("JOULEMAP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(LIBRARY.parent))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))

    def run(function: Callable[..., Any], *args: Any, script: str | None = None, **environment: str) -> Any:
        if script is not None:
            path = tmp_path / "script.csv"
            path.write_text(script)
            monkeypatch.setenv("JOULEMAP_SIM_SCRIPT", str(path))
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
            return pool.submit(function, *args).result(timeout=60)

    return run
