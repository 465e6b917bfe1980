"""The demo, as a person runs it: record, attribute, compare with the simulated board's truth."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

LAYER = re.compile(
    r"^(blocks\.\d\.\S+|head|AdamW|loss) +([\d.]+) J +([\d.]+) J +([+-][\d.]+) % +([\d.]+) %$", re.MULTILINE
)


def test_demo_finds_the_true_joules_of_each_layer(tmp_path: Path) -> None:
    environment = {**os.environ, "COLUMNS": "100"}
    recording = tmp_path / "demo.joulemap"
    options = ["--sim", "h200", "--seconds", "14", "--keep", str(recording)]
    done = subprocess.run(
        [sys.executable, "-m", "joulemap._cli", "demo", *options],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "SIMULATED GPU" in done.stdout
    # What the verdict rests on: layers were there, and the figures printed are what it says.
    layers = LAYER.findall(done.stdout)
    assert len(layers) >= 10, done.stdout
    for path, found_j, truth_j, _deviation, share in layers:
        if float(share) > 2:
            assert float(found_j) == pytest.approx(float(truth_j), rel=0.05), path
    assert (tmp_path / "demo.joulemap.truth.csv").exists()
    # It ends with a command that works as it stands, wherever the package lies.
    last = done.stdout.splitlines()[-1]
    assert last.startswith("next: ")
    assert last.endswith(f"joulemap report {recording} --by kernel")
    shown = subprocess.run(
        shlex.split(last.removeprefix("next: ")), capture_output=True, text=True, timeout=120, check=False
    )
    assert shown.returncode == 0, shown.stderr
    assert "Linear(256, 4096) (backward)" in shown.stdout, shown.stdout


def test_demo_says_where_it_cannot_put_its_files(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "joulemap._cli", "demo", "--sim", "h200"],
        env={**os.environ, "TMPDIR": str(tmp_path / "nowhere")},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 74, done.stdout + done.stderr
    assert f"cannot make a folder {tmp_path}/nowhere/joulemap-demo-" in done.stderr
    assert "set TMPDIR" in done.stderr
