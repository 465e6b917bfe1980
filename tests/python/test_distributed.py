"""Collectives of two processes over gloo, as they are told: operation, group, bytes."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections import Counter
from pathlib import Path

import joulemap
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch.distributed")

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


def test_calls_from_python_have_operation_group_and_bytes(tmp_path: Path) -> None:
    path = record(tmp_path / "run.joulemap", "direct")
    world = "world (ranks 0,1)"
    wanted = of_both(
        {
            ("all-reduce", world, 4096): 2,
            ("broadcast", world, 1024): 1,
            ("all-gather", world, 1024): 1,  # what a rank gives
            ("reduce-scatter", world, 512): 1,  # what it gets
            ("all-to-all", world, 256): 1,
            ("barrier", world, None): 1,
        }
    )
    wanted.update({(rank, "all-reduce", f"own (ranks {rank})", 32): 1 for rank in (0, 1)})
    assert told(path) == wanted
    rows = {row.name: row for row in joulemap.Recording(path).report(by="layer") if row.kind == "collective"}
    both = rows[f"all-reduce, {world}"]
    assert (both.type, both.calls, both.bytes) == ("all-reduce", 4, 4 * 4096)
    assert rows[f"barrier, {world}"].bytes is None


def test_fsdp_gathers_and_scatters_its_layers(tmp_path: Path) -> None:
    """A layer's 1 KiB of weights is 512 bytes a rank. A mesh of all ranks has the world's group."""
    calls = told(record(tmp_path / "run.joulemap", "fsdp"))
    assert {call[1:] for call in calls} == {
        ("all-gather", "world (ranks 0,1)", 512),
        ("reduce-scatter", "world (ranks 0,1)", 512),
    }
    for rank in (0, 1):
        assert calls[rank, "reduce-scatter", "world (ranks 0,1)", 512] == 3 * 2
        assert calls[rank, "all-gather", "world (ranks 0,1)", 512] == 3 * 2  # a root keeps its weights for backward


def test_tensor_parallelism_adds_up_its_results(tmp_path: Path) -> None:
    """4 x 16 numbers of 4 bytes a step."""
    calls = told(record(tmp_path / "run.joulemap", "tensor_parallel"))
    sums = Counter({call: count for call, count in calls.items() if call[1] == "all-reduce"})
    assert sums == of_both({("all-reduce", "world (ranks 0,1)", 256): 3})
    assert all(call[2] == "world (ranks 0,1)" for call in calls)


def test_a_pipeline_sends_and_receives_in_pairs(tmp_path: Path) -> None:
    calls = told(record(tmp_path / "run.joulemap", "pipeline"))
    there, back = "world (rank 0 to 1)", "world (rank 1 to 0)"
    assert calls == Counter(
        {
            (0, "send", there, 256): 3,
            (1, "recv", there, 256): 3,
            (1, "send", back, 256): 3,
            (0, "recv", back, 256): 3,
        }
    )


def test_what_a_reducer_in_cpp_calls_is_told_by_nobody(tmp_path: Path) -> None:
    """Not told as something else either: on a GPU NCCL tells it."""
    path = record(tmp_path / "run.joulemap", "ddp")
    assert not [call for call in told(path) if call[1] == "all-reduce"]
    assert joulemap.Recording(path).report(by="layer").totals.collective_wait_s is None


def test_pytorchs_own_calls_are_back_after_a_session() -> None:
    import torch.distributed as dist

    was = {name: getattr(dist.ProcessGroup, name) for name in ("allreduce", "send", "_allgather_base")}
    with joulemap.Session(sim="h200", cpu=False):
        assert all(getattr(dist.ProcessGroup, name) is not call for name, call in was.items())
    assert {name: getattr(dist.ProcessGroup, name) for name in was} == was
