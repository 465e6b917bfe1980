"""Collectives of each kind of parallel training, two processes over gloo (tests/python/test_distributed.py: calls)."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import joulemap
from distributed import of_both, record, told


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
