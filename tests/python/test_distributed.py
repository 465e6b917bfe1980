"""Collectives of two processes over gloo, as they are told: operation, group, bytes."""

from __future__ import annotations

from pathlib import Path

import joulemap
import torch.distributed as dist
from distributed import of_both, record, told


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


def test_pytorchs_own_calls_are_back_after_a_session() -> None:
    was = {name: getattr(dist.ProcessGroup, name) for name in ("allreduce", "send", "_allgather_base")}
    with joulemap.Session(sim="h200", cpu=False):
        assert all(getattr(dist.ProcessGroup, name) is not call for name, call in was.items())
    assert {name: getattr(dist.ProcessGroup, name) for name in was} == was
