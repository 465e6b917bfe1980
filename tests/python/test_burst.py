"""Bursts on a GPU that is made up: what PyTorch's graphs, streams and pools are asked for, in which order.

PyTorch's rules that the stand-ins hold to: a pool whose last graph is gone takes no other; a capture that fails leaves
its pool open, until somebody ends that by hand; work outside of a capture runs at once, inside of one at each replay.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from joulemap._burst import CaptureError, CudaPlayer, call_seconds

REAL_ZEROS = torch.zeros


class Gpu:
    """All that happens on it."""

    def __init__(self) -> None:
        self.clock_s = 0.0
        self.capturing: Graph | None = None
        self.pools: dict[int, int] = {}  # uses, by number; one that had some and has none is dead
        self.open: set[int] = set()
        self.handles = 0
        self.stream: Stream | None = None
        self.emptied = 0

    def kernel(self, seconds: float = 1e-3) -> None:
        if self.capturing is None:
            self.clock_s += seconds
        else:
            self.capturing.seconds += seconds


class Stream:
    def __init__(self, gpu: Gpu) -> None:
        self.gpu = gpu

    def wait_stream(self, other: Stream) -> None:
        assert self.gpu.capturing is None

    def synchronize(self) -> None:
        assert self.gpu.capturing is None


class Event:
    def __init__(self, gpu: Gpu) -> None:
        self.gpu = gpu
        self.at_s = 0.0

    def record(self) -> None:
        self.at_s = self.gpu.clock_s

    def elapsed_time(self, other: Event) -> float:
        return 1e3 * (other.at_s - self.at_s)


class Graph:
    def __init__(self, gpu: Gpu) -> None:
        self.gpu = gpu
        self.seconds = 0.0
        self.pool = 0
        self.broken = False

    def capture_begin(self, pool: int, capture_error_mode: str) -> None:
        assert self.gpu.stream is not None
        if self.gpu.pools.get(pool, 1) == 0:
            raise RuntimeError("it->second->use_count > 0 INTERNAL ASSERT FAILED")
        self.pool = pool
        self.gpu.pools[pool] = self.gpu.pools.get(pool, 0) + 1
        self.gpu.open.add(pool)
        self.gpu.capturing = self

    def capture_end(self) -> None:
        self.gpu.capturing = None
        if self.broken:
            raise RuntimeError("operation failed due to a previous error during capture\nadvice")
        self.gpu.open.remove(self.pool)

    def replay(self) -> None:
        self.gpu.clock_s += self.seconds

    def __del__(self) -> None:
        if self.pool:
            self.gpu.pools[self.pool] -= 1


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Gpu:
    made = Gpu()
    default = Stream(made)

    def handle() -> int:
        made.handles += 1
        return made.handles

    @contextlib.contextmanager
    def on(stream: Stream) -> Iterator[None]:
        before, made.stream = made.stream, stream
        try:
            yield
        finally:
            made.stream = before

    def zeros(*size: int, device: Any) -> torch.Tensor:
        made.kernel()
        return REAL_ZEROS(*size)

    def empty_cache() -> None:
        made.emptied += 1

    for name, value in {
        "Stream": lambda device: Stream(made),
        "Event": lambda enable_timing: Event(made),
        "CUDAGraph": lambda: Graph(made),
        "graph_pool_handle": handle,
        "stream": on,
        "current_stream": lambda device: made.stream or default,
        "synchronize": lambda device: None,
        "empty_cache": empty_cache,
    }.items():
        monkeypatch.setattr(torch.cuda, name, value)
    monkeypatch.setattr(torch, "zeros", zeros)
    monkeypatch.setattr(torch._C, "_cuda_endAllocateToPool", lambda device, pool: made.open.remove(pool))
    return made


def test_burst_is_a_graph_of_its_calls_and_says_how_long_they_took(gpu: Gpu) -> None:
    player = CudaPlayer(torch.device("cuda", 0))
    burst = player.burst(gpu.kernel, 7)
    assert (burst.calls, burst.how) == (7, "graph")
    assert burst.play() == pytest.approx(7e-3)
    assert player.plain(gpu.kernel, 3).play() == pytest.approx(3e-3)
    assert call_seconds(player, gpu.kernel, 20e-3) == pytest.approx(1e-3)


def test_all_graphs_share_a_pool_also_after_all_of_them_are_gone(gpu: Gpu) -> None:
    player = CudaPlayer(torch.device("cuda", 0))
    for calls in range(1, 5):
        player.burst(gpu.kernel, calls).play()
    assert gpu.handles == 1
    assert gpu.open == set()


def test_a_capture_that_fails_says_why_and_harms_no_later_one(gpu: Gpu) -> None:
    player = CudaPlayer(torch.device("cuda", 0))

    def fail() -> None:
        if gpu.capturing is not None:
            gpu.capturing.broken = True
            raise RuntimeError("operation not permitted when stream is capturing\nadvice")

    kept = player.burst(gpu.kernel, 2)
    with pytest.raises(CaptureError, match=r"^operation not permitted when stream is capturing$"):
        player.burst(fail, 3)
    assert gpu.open == set()
    assert gpu.capturing is None
    assert gpu.stream is None
    assert player.burst(gpu.kernel, 4).play() == pytest.approx(4e-3)
    assert kept.play() == pytest.approx(2e-3)


def test_an_interrupted_capture_ends(gpu: Gpu) -> None:
    player = CudaPlayer(torch.device("cuda", 0))

    def interrupted() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        player.burst(interrupted, 1)
    assert gpu.capturing is None
    assert gpu.open == set()


def test_without_memory_the_cache_is_emptied_and_tried_once_more(gpu: Gpu) -> None:
    player = CudaPlayer(torch.device("cuda", 0))

    def hungry() -> None:
        if gpu.capturing is not None and gpu.emptied == 0:
            gpu.capturing.broken = True
            raise torch.cuda.OutOfMemoryError("CUDA out of memory")
        gpu.kernel()

    assert player.burst(hungry, 2).play() == pytest.approx(2e-3)
    assert gpu.emptied == 1
