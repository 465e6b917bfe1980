"""Two processes of distributed_program.py under one recorder, and what was told of their collectives."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections import Counter
from pathlib import Path

PROGRAM = Path(__file__).with_name("distributed_program.py")
Told = Counter[tuple[int, str, str, int | None]]  # rank, operation, group, bytes


def record(path: Path, kind: str) -> Path:
    """Two processes of one program under one recorder, a simulated board each."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    recorder = [sys.executable, "-m", "joulemap", "record", "--sim", "h200,h200", "-o", str(path), "--"]
    subprocess.run([*recorder, *torchrun, str(PROGRAM), kind], env=environment, check=True, timeout=300)
    return path


def told(path: Path) -> Told:
    with sqlite3.connect(path) as file:
        rows = file.execute(
            "SELECT rank, n.text, t.text, payload FROM spans JOIN processes ON processes.id = process_id "
            "JOIN span_kinds k ON k.id = kind_id JOIN names n ON n.id = name_id LEFT JOIN names t ON t.id = type_id "
            "WHERE k.text = 'collective'"
        )
        return Counter(rows.fetchall())


def of_both(calls: dict[tuple[str, str, int | None], int]) -> Told:
    return Counter({(rank, *call): count for rank in (0, 1) for call, count in calls.items()})
