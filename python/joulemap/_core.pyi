"""Types of the extension module."""

import os
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Final, TypedDict

from typing_extensions import Self

SPAN_KINDS: Final[dict[str, int]]
BY: Final[dict[str, int]]
PER: Final[dict[str, int]]
TRACING: Final[dict[str, int]]
CPU_BOARDS: Final[int]
# (name, key in JSON and CSV, type, documentation) of each field of a report
ROW_FIELDS: Final[tuple[tuple[str, str, str, str], ...]]
TOTALS_FIELDS: Final[tuple[tuple[str, str, str, str], ...]]
QUALITY_FIELDS: Final[tuple[tuple[str, str, str, str], ...]]

class Error(RuntimeError):
    status: str
    code: int
    call: str
    hint: str

class NoDeviceError(Error): ...

def readable(text: str, /) -> str: ...
def intern(text: str, /) -> int: ...
def span_begin(kind: int, name: int, type: int = 0, samples: int = 0, /) -> int: ...
def collective_begin(operation: int, group: int, bytes: int, /) -> int: ...
def span_end(span: int, /) -> None: ...
def follow_steps(callable: Callable[[Span], object] | None, /) -> None: ...
def follow_tracing(callable: Callable[[int], object] | None, /) -> None: ...
def mark(name: str, meta: str | None = None, /) -> None: ...
def boards(sim: str | None = None, /) -> list[dict[str, Any]]: ...
def findings(sim: str | None = None, /) -> list[dict[str, Any]]: ...
def learn_model(
    recording: str | os.PathLike[str], phase: str, path: str | os.PathLike[str] | None = None, board_id: int = 0, /
) -> dict[str, Any]: ...
def estimate(
    csv: str | os.PathLike[str],
    model: str | os.PathLike[str] | None = None,
    clock_mhz: float = 0,
    program_s: float = 0,
    limit_w: float = 0,
    board: str | None = None,
    what: str = "j",
    /,
) -> str: ...
def train(
    features: str | os.PathLike[str],
    power: str | os.PathLike[str] | None = None,
    path: str | os.PathLike[str] | None = None,
    /,
) -> str: ...
def estimate_profile(
    command: Sequence[str],
    csv: str | os.PathLike[str],
    page: str,
    model: str | os.PathLike[str] | None,
    timeout_s: float,
    arguments: Sequence[str],
    /,
) -> int: ...
def repeats(values: Sequence[float], /) -> dict[str, Any]: ...
def thinned(
    t_ns: bytes, power_w: bytes, from_ns: int, to_ns: int, interval_ns: int, /
) -> tuple[float, float, float, float, float]: ...
def cap_boards(sim: str | None = None, /) -> list[dict[str, Any]]: ...
def cap_restore() -> list[dict[str, Any]]: ...
def version() -> str: ...

class Thread:
    frame: Final[Any]  # a Frame, or None
    backward: Final[Any]  # a Backward, or None
    backwards: Final[list[Backward]]
    regions: Final[list[list[tuple[Any, int]]]]
    generation: int
    def unwind(self, depth: int, /) -> None: ...

class Layer:
    name: int
    type: int
    checked: bool
    active: bool
    inner: Any

class Frame:
    layer: Final[Any]
    parent: Final[Any]
    home: Final[Any]
    depth: Final[int]
    has_spans: bool
    def enter_backward(self) -> None: ...
    def leave_backward(self) -> None: ...

class Backward:
    task: Final[int]
    frame: Final[Frame | None]
    done: Final[bool]
    def finish(self) -> None: ...

class Calls:
    on: bool
    traced: bool
    generation: int
    found: Callable[[Any], object] | None
    entered: Callable[[Any, Any, Any], object] | None
    __wrapped__: Final[Callable[..., Any]]
    def __new__(
        cls,
        wrapped: Callable[..., Any],
        bind: type[Any],
        layers: dict[int, Any],
        local: Any,
        frame: type[Frame],
        graph_task: Callable[[], int],
        queue_callback: Callable[[Callable[[], None]], None],
        is_grad_enabled: Callable[[], bool],
        tensor: type[Any],
        parts: Callable[[Any], list[Any] | None],
    ) -> Self: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def enter(self, layer: Layer, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None, /) -> None: ...
    def leave(self, layer: Layer, result: Any, /) -> None: ...
    def announce(self, layer: Layer, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None, /) -> None: ...
    def offer(self, module: Any, /) -> bool: ...

class Span:
    def __new__(cls, kind: int, name: int | str, type: int = 0, samples: int = 0, /) -> Self: ...
    @property
    def name(self) -> int | str: ...
    @property
    def kind(self) -> int: ...
    samples: int
    tokens: int
    @property
    def start_ns(self) -> int | None: ...
    @property
    def end_ns(self) -> int | None: ...
    def begin(self) -> Self: ...
    def end(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None: ...
    def _failed(self, exc_type: type[BaseException], /) -> None: ...
    def _unrecorded(self) -> None: ...
    def _task(self) -> int: ...

class Report:
    def rows(self) -> list[tuple[Any, ...]]: ...
    def totals(self) -> dict[str, Any]: ...
    def quality(self) -> dict[str, Any]: ...
    def notes(self) -> list[str]: ...
    def text(
        self,
        width: int = 0,
        limit: int = 0,
        depth: int = 0,
        total: bool = False,
        expand: bool = False,
        notes: bool = False,
        /,
    ) -> str: ...
    def json(self) -> str: ...
    def html(self, name: str | None, kernels: Report | None, spans: Report | None, /) -> str: ...
    def wants_spans(self) -> bool: ...
    def fragment(self, limit: int, /) -> str: ...
    def csv(self) -> str: ...
    def groups(self) -> list[dict[str, Any]]: ...
    def stages(self) -> list[tuple[str, int | None, float | None, float]]: ...
    def sum_paths(self, pattern: str, /) -> tuple[float | None, float | None, float | None]: ...
    def sum(self, rows: Sequence[int], /) -> tuple[float | None, float | None, float | None]: ...

class TimelineDict(TypedDict):
    start_ns: int
    end_ns: int
    unix_offset_ns: int
    series: list[dict[str, Any]]
    spans: list[dict[str, Any]]
    marks: list[dict[str, Any]]

class Run:
    def __new__(
        cls,
        path: str | os.PathLike[str] | None = None,
        sim: str | None = None,
        command: str | None = None,
        overwrite: bool = False,
        kernels: bool = False,
        no_cpu: bool = False,
        sampling_only: bool = False,
        counters: float = 0.0,
        kernels_required: bool = False,
        ranges: bool = False,
        budget: float = 0.0,
        may_wait: bool = False,
        keep_s: float = 0.0,
        max_bytes: int = 0,
    ) -> Self: ...
    @property
    def attached(self) -> bool: ...
    @property
    def dormant(self) -> bool: ...
    @property
    def kernels_missing(self) -> str | None: ...
    @property
    def path(self) -> str | None: ...
    def trace(self, tracing: int, /) -> None: ...
    def tracing_cost(self) -> tuple[float, int, int] | None: ...
    def board_id(self, index: int, cuda: bool = False, /) -> int: ...
    def energy(
        self, from_ns: int, to_ns: int, board_id: int = 0, /
    ) -> tuple[float | None, float | None, float | None]: ...
    def flush(self, timeout_ms: int, /) -> bool: ...
    def note(self, key: str, value: str, /) -> None: ...
    def complete_ns(self) -> int: ...
    def stop(self) -> None: ...
    def environment(self) -> list[str]: ...
    def timeline(self, from_ns: int = ..., to_ns: int = ..., /) -> TimelineDict: ...
    def report(
        self,
        by: int,
        phase: str | None = None,
        board_id: int = 0,
        process_id: int = 0,
        from_ns: int = 0,
        to_ns: int = 0,
        prior: str | None = None,
        model: str | None = None,
    ) -> Report: ...

class Recording:
    def __new__(cls, path: str | os.PathLike[str]) -> Self: ...
    def timeline(self, from_ns: int = ..., to_ns: int = ..., /) -> TimelineDict: ...
    @property
    def damage(self) -> str | None: ...
    def meta(self, key: str, /) -> str | None: ...
    def board_id(self, index: int, cuda: bool = False, /) -> int: ...
    def energy(
        self, from_ns: int, to_ns: int, board_id: int = 0, /
    ) -> tuple[float | None, float | None, float | None]: ...
    def report(
        self,
        by: int,
        phase: str | None = None,
        board_id: int = 0,
        process_id: int = 0,
        from_ns: int = 0,
        to_ns: int = 0,
        prior: str | None = None,
        model: str | None = None,
    ) -> Report: ...

class Diff:
    def __new__(
        cls,
        a: tuple[tuple[Report, str | None], ...],
        b: tuple[tuple[Report, str | None], ...],
        per: int = 0,
        name_a: str | None = None,
        name_b: str | None = None,
        expand: bool = False,
    ) -> Self: ...
    @property
    def per(self) -> str: ...
    @property
    def gpu(self) -> str: ...
    @property
    def gain_u(self) -> float: ...
    def rows(self) -> list[dict[str, Any]]: ...
    def total(self) -> dict[str, Any]: ...
    def text(self, width: int = 0, limit: int = 0, /) -> str: ...
    def markdown(self, limit: int = 0, /) -> str: ...
    def json(self) -> str: ...

class Lease:
    def __new__(
        cls,
        board: int = 0,
        sim: str | None = None,
        who: str | None = None,
        for_ns: int = 0,
        run_dir: str | None = None,
    ) -> Self: ...
    def set(self, cap_w: float, /) -> float | None: ...
    def clock(self, mhz: float, /) -> None: ...
    def board(self) -> dict[str, Any]: ...
    def end(self) -> None: ...

class TrialDict(TypedDict):
    stage: str
    cap_w: float
    reference: bool
    number: int
    settle_s: float
    window_s: float

class Search:
    def __new__(
        cls,
        low_w: float,
        high_w: float,
        reference_w: float,
        objective: str = "ed2p",
        step_w: float = 0.0,
        max_slowdown: float = 0.0,
        probes: int = 0,
        sweep: int = 0,
        rounds: int = 0,
        drift: float = 0.0,
        settle_s: float = 0.0,
        window_s: float = 0.0,
        proof: bool = True,
        seed: int = 0,
        simulated: bool = False,
    ) -> Self: ...
    def next(self) -> TrialDict | None: ...
    def tell(
        self, cap_w: float, time_s: float, power_w: float, time_u_s: float = 0.0, power_u_w: float = 0.0, /
    ) -> None: ...
    def text(self, width: int = 0, /) -> str: ...
    def json(self) -> str: ...
