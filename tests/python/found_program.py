"""A program that knows nothing of joulemap, recorded by `joulemap run`, and the report of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from joulemap._cli import native_folder


def recorded(folder: Path, program: str, *, path: str = "", python: str = sys.executable) -> dict[str, Any]:
    """Run a program as `joulemap run` does, and return the report of its recording."""
    script, recording = folder / "program.py", folder / "run.joulemap"
    script.write_text(program)
    command = native_folder() / "joulemap"
    environment = {**os.environ, "JOULEMAP_SIM": "h100", "JOULEMAP_SIM_SEED": "1"}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [path, environment.get("PYTHONPATH")]))
    done = subprocess.run(
        [command, "run", "-o", recording, python, script],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Exception ignored" not in done.stderr
    shown = subprocess.run([command, "report", recording, "--json"], capture_output=True, text=True, check=True)
    return {**json.loads(shown.stdout), "stdout": done.stdout, "stderr": done.stderr}


def calls(report: dict[str, Any]) -> dict[str, int]:
    return {row["path"]: row["calls"] for row in report["rows"] if row["kind"] == "layer"}
