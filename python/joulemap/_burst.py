"""Bursts: many calls in a row that do not wait for the host between them.

On a GPU a burst is a CUDA graph if the calls can be captured; else, and on the CPU, it is plain calls.
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
_WARM_UP_CALLS = 3


@dataclass(frozen=True)
class Burst:
    """Calls that are played together.

    Attributes
    ----------
    calls : int
        Number of calls.
    how : str
        "graph" or "calls".
    play : callable
        Runs the calls, waits for their end, and returns their seconds on the device.
    call : callable
        One call. It keeps the inputs alive, which a graph does not.
    """

    calls: int
    how: str
    play: Callable[[], float]
    call: Call


class CaptureError(RuntimeError):
    """The calls cannot be captured in a graph; the message says why."""


class Player(Protocol):
    """Makes bursts on one device.

    Attributes
    ----------
    device : torch.device
        The device.
    how : str
        How its bursts run: "graph" or "calls".
    """

    device: torch.device
    how: str

    def stream(self) -> contextlib.AbstractContextManager[None]:
        """Return the context in which inputs of bursts are made: a backward pass runs on the stream of its forward."""

    def plain(self, call: Call, calls: int) -> Burst:
        """Return a burst of plain calls."""

    def burst(self, call: Call, calls: int) -> Burst:
        """Return a burst that does not wait for the host.

        Raises
        ------
        CaptureError
            If the calls cannot be captured in a graph.
        torch.cuda.OutOfMemoryError
            If there is no memory for them.
        """

    def synchronize(self) -> None:
        """Wait for the device."""


class CpuPlayer:
    """Bursts on the CPU, for tests with a simulated board."""

    how = CALLS

    def __init__(self) -> None:
        self.device = torch.device("cpu")

    def stream(self) -> contextlib.AbstractContextManager[None]:
        """Return an empty context: the CPU has no streams."""
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
        """Do nothing: calls on the CPU are synchronous."""


@dataclass
class CudaPlayer:
    """Bursts on a GPU, all on one stream, their graphs in one memory pool.

    A graph may overwrite what another one left in the pool: only inputs made before the capture last.
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
        """Make the bursts' stream the current one; the previous stream then waits for it."""
        self._stream.wait_stream(torch.cuda.current_stream(self.device))
        with torch.cuda.stream(self._stream):
            yield
        torch.cuda.current_stream(self.device).wait_stream(self._stream)

    def plain(self, call: Call, calls: int) -> Burst:
        """Return a burst of plain calls; if they are short, the GPU waits for the host."""

        def play() -> None:
            for _ in range(calls):
                call()

        return self._timed(CALLS, call, calls, play)

    def burst(self, call: Call, calls: int) -> Burst:
        """Return a graph of the calls, which has run once."""
        graph: torch.cuda.CUDAGraph | None = None
        with contextlib.suppress(torch.cuda.OutOfMemoryError):
            graph = self._capture(call, calls)
        if graph is None:  # a capture cannot use memory that the allocator caches for other pools
            torch.cuda.empty_cache()
            graph = self._capture(call, calls)
        burst = self._timed(GRAPH, call, calls, graph.replay)
        burst.play()  # the first launch uploads the graph
        return burst

    def synchronize(self) -> None:
        """Wait for the GPU."""
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
            # A pool without graphs accepts no new ones, so one graph stays in it.
            self._pool = torch.cuda.graph_pool_handle()
            self._kept.append(self._capture(lambda: torch.zeros(1, device=self.device), 1))
        # torch.cuda.graph would empty the allocator's cache each time, and not restore the stream after a failure.
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
                self._abort_capture(graph)
                if not isinstance(error, RuntimeError) or isinstance(error, torch.cuda.OutOfMemoryError):
                    raise
                raise CaptureError(first_line(error)) from error
        return graph

    def _abort_capture(self, graph: torch.cuda.CUDAGraph) -> None:
        """Reset allocator and random generator after a failed capture."""
        with contextlib.suppress(Exception):
            graph.capture_end()
        with contextlib.suppress(Exception):  # fails if capture_end() did it
            torch._C._cuda_endAllocateToPool(self.device.index or 0, self._pool)
        with contextlib.suppress(Exception):  # a copy of the state is not registered with the capture
            generator = torch.cuda.default_generators[self.device.index or 0]
            generator.graphsafe_set_state(generator.clone_state())
        self._kept.append(graph)  # the allocator may still query it about its memory
        with contextlib.suppress(Exception):
            torch.cuda.synchronize(self.device)
        self._pool = None  # the next capture makes another


def player_of(device: torch.device) -> Player:
    """Return the player of a device.

    Raises
    ------
    ValueError
        If it is neither a CUDA GPU nor the CPU.
    """
    if device.type == "cpu":
        return CpuPlayer()
    if device.type != "cuda":
        raise ValueError(f"bursts run on CUDA or on the CPU, not on {device}")
    index = torch.cuda.current_device() if device.index is None else device.index
    return CudaPlayer(torch.device("cuda", index))


def warm_up(player: Player, call: Call) -> float:
    """Call until the kernels are chosen; return the seconds of a plain call, launches included."""
    with player.stream():
        for _ in range(_WARM_UP_CALLS):
            call()
    player.synchronize()
    return max(1e-7, player.plain(call, _WARM_UP_CALLS).play() / _WARM_UP_CALLS)


def call_seconds(player: Player, call: Call, least_s: float) -> float:
    """Return the seconds of a call inside a burst of about `least_s`, without launches."""
    rough_s = warm_up(player, call)
    burst = player.burst(call, max(1, round(least_s / rough_s)))
    return max(1e-7, burst.play() / burst.calls)


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
