"""A simulated board that `joulemap calibrate` has measured."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


def command(*words: str | Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the installed command in this folder, which is also the user's home."""
    environment = {**os.environ, "XDG_DATA_HOME": str(folder / "data"), "TMPDIR": str(folder / "tmp")}
    return subprocess.run(
        [sys.executable, "-m", "joulemap._cli", *map(str, words)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `model.json` and `suite.joulemap`, which one command made, and what it said."""
    place = tmp_path_factory.mktemp("calibrate")
    (place / "tmp").mkdir()
    options = ["--sim", "h200", "--seconds", "7", "-o", "model.json", "--keep-recording", "suite.joulemap"]
    done = command("calibrate", *options, folder=place)
    assert done.returncode == 0, done.stdout + done.stderr
    (place / "said").write_text(done.stdout)
    return place
