"""Bursts: so many calls of one thing in a row, without waiting for the host between them.

On a GPU a burst is a CUDA graph, where one can hold the calls; else, and on the CPU, they are plain calls.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch

Call = Callable[[], object]

GRAPH = "graph"
CALLS = "calls"
_ROUGH_CALLS = 3


@dataclass(frozen=True)
class Burst:
    """Calls that are played together.

    Attributes
    ----------
    calls : int
        How many.
    how : str
        "graph" or "calls".
    play : callable
        Runs them, waits for their end, returns the seconds that they took on the device.
    call : callable
        One of them. A graph does not keep what it reads alive; this does.
    """

    calls: int
    how: str
    play: Callable[[], float]
    call: Call


class CaptureError(RuntimeError):
    """No graph can hold these calls; the message says why."""


class Player(Protocol):
    """Makes bursts on one device.

    Attributes
    ----------
    device : torch.device
        Where.
    how : str
        What its bursts are: "graph" or "calls".
    """

    device: torch.device
    how: str

    def stream(self) -> contextlib.AbstractContextManager[None]:
        """Return the context in which all that bursts use is made: a backward pass runs where its forward ran."""

    def plain(self, call: Call, calls: int) -> Burst:
        """Return a burst of plain calls."""

    def burst(self, call: Call, calls: int) -> Burst:
        """Return a burst without the host in it.

        Raises
        ------
        CaptureError
            If no graph can hold the calls.
        torch.cuda.OutOfMemoryError
            If there is no memory for them.
        """

    def synchronize(self) -> None:
        """Wait until the device is at rest."""


class CpuPlayer:
    """Bursts on the CPU: for tests, beside a simulated board."""

    how = CALLS

    def __init__(self) -> None:
        self.device = torch.device("cpu")

    def stream(self) -> contextlib.AbstractContextManager[None]:
        """There are no streams."""
        return contextlib.nullcontext()

    def plain(self, call: Call, calls: int) -> Burst:
        """Return a burst of plain calls."""

        def play() -> float:
            begin_s = time.perf_counter()
            for _ in range(calls):
                call()
            return time.perf_counter() - begin_s

        return Burst(calls, CALLS, play, call)

    burst = plain

    def synchronize(self) -> None:
        """Return at once: calls on the CPU have ended when they return."""


@dataclass
class CudaPlayer:
    """Bursts on a GPU, all on one stream, their graphs in one pool of memory.

    What a graph leaves in that memory another may overwrite: only inputs made before the capture last.
    """

    device: torch.device
    how: str = field(init=False, default=GRAPH)
    _stream: torch.cuda.Stream = field(init=False)
    _pool: Any = field(init=False, default=None)
    _kept: list[torch.cuda.CUDAGraph] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self._stream = torch.cuda.Stream(self.device)

    @contextlib.contextmanager
    def stream(self) -> Iterator[None]:
        """Make the bursts' stream the current one; the host's next work on others waits for it."""
        self._stream.wait_stream(torch.cuda.current_stream(self.device))
        with torch.cuda.stream(self._stream):
            yield
        torch.cuda.current_stream(self.device).wait_stream(self._stream)

    def plain(self, call: Call, calls: int) -> Burst:
        """Return a burst of plain calls: where they are short, the GPU waits for the host."""

        def play() -> None:
            for _ in range(calls):
                call()

        return self._timed(CALLS, call, calls, play)

    def burst(self, call: Call, calls: int) -> Burst:
        """Return a graph of so many calls, which has run once."""
        graph: torch.cuda.CUDAGraph | None = None
        with contextlib.suppress(torch.cuda.OutOfMemoryError):
            graph = self._capture(call, calls)
        if graph is None:  # what the allocator keeps for others no capture can have
            torch.cuda.empty_cache()
            graph = self._capture(call, calls)
        made = self._timed(GRAPH, call, calls, graph.replay)
        made.play()  # the first launch carries the graph to the GPU
        return made

    def synchronize(self) -> None:
        """Wait until the GPU is at rest."""
        torch.cuda.synchronize(self.device)

    def _timed(self, how: str, call: Call, calls: int, run: Callable[[], None]) -> Burst:
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)

        def play() -> float:
            with torch.cuda.stream(self._stream):
                begin.record()
                run()
                end.record()
                self._stream.synchronize()
            elapsed_ms: float = begin.elapsed_time(end)
            return elapsed_ms / 1e3

        return Burst(calls, how, play, call)

    def _capture(self, call: Call, calls: int) -> torch.cuda.CUDAGraph:
        if self._pool is None:
            # A pool whose last graph is gone takes no other: one graph that stays keeps it.
            self._pool = torch.cuda.graph_pool_handle()
            self._kept.append(self._capture(lambda: torch.zeros(1, device=self.device), 1))
        # Not torch.cuda.graph: it empties the allocator's cache each time, and keeps the stream after a failure.
        graph = torch.cuda.CUDAGraph()
        torch.cuda.synchronize(self.device)
        with torch.cuda.stream(self._stream):
            try:
                # Other threads may use CUDA meanwhile: CUPTI's flush, the autograd engine.
                graph.capture_begin(pool=self._pool, capture_error_mode="thread_local")
                for _ in range(calls):
                    call()
                graph.capture_end()
            except BaseException as error:
                self._give_up(graph)
                if not isinstance(error, RuntimeError) or isinstance(error, torch.cuda.OutOfMemoryError):
                    raise
                raise CaptureError(first_line(error)) from error
        return graph

    def _give_up(self, graph: torch.cuda.CUDAGraph) -> None:
        """After a capture that failed: nothing of it may stay with allocator and generator."""
        with contextlib.suppress(Exception):
            graph.capture_end()
        with contextlib.suppress(Exception):  # it did not come so far where ending the capture failed
            torch._C._cuda_endAllocateToPool(self.device.index or 0, self._pool)
        with contextlib.suppress(Exception):  # a copy of the state is in no capture
            generator = torch.cuda.default_generators[self.device.index or 0]
            generator.graphsafe_set_state(generator.clone_state())
        self._kept.append(graph)  # allocators may still ask it whether memory is its own
        with contextlib.suppress(Exception):
            torch.cuda.synchronize(self.device)
        self._pool = None  # the next capture makes another


def player_of(device: torch.device) -> Player:
    """Return what plays on this device.

    Raises
    ------
    ValueError
        If it is neither a GPU of CUDA nor the CPU.
    """
    if device.type == "cpu":
        return CpuPlayer()
    if device.type != "cuda":
        raise ValueError(f"bursts run on CUDA or on the CPU, not on {device}")
    index = torch.cuda.current_device() if device.index is None else device.index
    return CudaPlayer(torch.device("cuda", index))


def warm_up(player: Player, call: Call) -> float:
    """Call it until its kernels are chosen; return the seconds of a plain call, launches included."""
    with player.stream():
        for _ in range(_ROUGH_CALLS):
            call()
    player.synchronize()
    return max(1e-7, player.plain(call, _ROUGH_CALLS).play() / _ROUGH_CALLS)


def call_seconds(player: Player, call: Call, least_s: float) -> float:
    """Return the seconds of a call inside a burst of about `least_s`, without launches."""
    rough_s = warm_up(player, call)
    burst = player.burst(call, max(1, round(least_s / rough_s)))
    return max(1e-7, burst.play() / burst.calls)


def first_line(error: BaseException) -> str:
    """Return what an error says, without the advice below it."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
