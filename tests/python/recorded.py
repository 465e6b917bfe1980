"""The recordings of tests/data, and what the command exports of one."""

from __future__ import annotations

import functools
import json
import lzma
import os
import shlex
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from joulemap._cli import native_folder

DATA = Path(__file__).parents[1] / "data"
KEYS = ("layer", "kernel", "type", "phase", "board", "span", "request", "class")


def unpack(name: str, folder: Path) -> Path:
    """Write a recording of tests/data/recordings or tests/data/runs into a folder."""
    path = folder / f"{name}.joulemap"
    (packed,) = DATA.glob(f"*/{name}.joulemap.xz")
    path.write_bytes(lzma.decompress(packed.read_bytes()))
    return path


RANK = """
import time
import joulemap
from joulemap import _core

with joulemap.Session() as run, run.phase("train"):
    for step in range(12):
        with run.step(samples=4):
            for layer, seconds in (("blocks.0", 0.08), ("blocks.1", 0.16)):
                type_id = _core.intern(f"Linear({1000 * seconds:.0f})")
                span = _core.span_begin(_core.SPAN_KINDS["forward"], _core.intern(layer), type_id, 0)
                time.sleep(seconds)
                _core.span_end(span)
            time.sleep(0.05)
"""


def record_two_gpus(folder: Path) -> Path:
    """Record two ranks of a program, each on a simulated GPU of its own."""
    path = folder / "two-gpus.joulemap"
    path.write_bytes(_two_gpus())
    return path


@functools.cache
def _two_gpus() -> bytes:
    """Record them once for all tests of a process."""
    with tempfile.TemporaryDirectory() as folder:
        return _record_two_gpus(Path(folder)).read_bytes()


def _record_two_gpus(folder: Path) -> Path:
    path, program = folder / "two-gpus.joulemap", folder / "rank.py"
    program.write_text(RANK)
    ranks = f"for rank in 0 1; do LOCAL_RANK=$rank RANK=$rank {shlex.join([sys.executable, str(program)])} & done; wait"
    command = [str(native_folder() / "joulemap"), "record", "--sim", "h200,h200", "--no-cpu", "-o", str(path)]
    subprocess.run([*command, "--", "sh", "-c", ranks], check=True, env={**os.environ, "JOULEMAP_SIM_SEED": "1"})
    return path


def export(recording: Path, form: str, *options: str) -> bytes:
    """Return what `joulemap export` writes."""
    command = [str(native_folder() / "joulemap"), "export", str(recording), "--format", form, *options]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout


def report(recording: Path, *options: str) -> dict[str, Any]:
    """Return the report as its JSON has it."""
    result: dict[str, Any] = json.loads(export(recording, "json", *options))
    return result


def query(recording: Path, sql: str) -> list[tuple[Any, ...]]:
    """Return all rows of a query to the recording."""
    file = sqlite3.connect(f"file:{recording}?mode=ro", uri=True)
    try:
        return file.execute(sql).fetchall()
    finally:
        file.close()
