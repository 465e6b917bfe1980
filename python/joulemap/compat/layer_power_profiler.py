"""The interface of GPUPP's `layer_power_profiler`, on joulemap's session and attribution.

The interface is the same; the figures differ: GPU time instead of launch time, fitted power instead of the sensor's
one-second mean, totals that count every joule once, and all boards of a model on several GPUs.
"""

from __future__ import annotations

import csv
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from joulemap import _core
from joulemap._csv import cell
from joulemap._gpu import find_gpu, synchronize
from joulemap._report import import_pandas
from joulemap._row_types import Row
from joulemap.compat._shared import shared

if TYPE_CHECKING:
    import pandas as pd
    import torch

WARMUP_S = 1.0
"""Time of warm-up runs, seconds: 50 readings of the power sensor, so that the layers' powers can be separated."""

MAX_WARMUP_CALLS = 20_000
"""Module calls after which the warm-up ends early."""

COLUMNS = (
    "layer_name",
    "exec_id",
    "start_time",
    "end_time",
    "duration_ms",
    "start_power_w",
    "end_power_w",
    "avg_power_w",
    "energy_j",
)
"""The old columns; joulemap's own follow them."""


@dataclass
class LayerMetrics:
    """One execution of a layer.

    Attributes
    ----------
    layer_name : str
        Path of the module; the class name for the model itself.
    exec_id : int
        Number of the execution, from 0, in order of start.
    start_time, end_time : float
        Unix seconds of its first kernel's start and its last kernel's end (without a GPU: of its call).
    duration_ms : float
        Time between them, ms.
    start_power_w, end_power_w : float
        Fitted power of its first and last leaf, watts; NaN if nothing ran.
    avg_power_w : float
        Power while its kernels ran, watts; NaN if nothing ran.
    energy_j : float
        Joules, including inner layers.
    energy_low_j, energy_high_j : float
        95 % interval of `energy_j`, joules.
    energy_self_j : float
        Joules without inner layers. All rows together add up to the total.
    scope : str
        "leaf", or "inclusive" for a layer with inner layers.
    provenance : str
        Source of the figure: "measured", "fitted", "counters", "isolated", "given", "weak" or "unresolved".
    boards : str
        Indices of the boards that it ran on.
    """

    layer_name: str
    exec_id: int
    start_time: float
    end_time: float
    duration_ms: float
    start_power_w: float
    end_power_w: float
    avg_power_w: float
    energy_j: float
    energy_low_j: float = float("nan")
    energy_high_j: float = float("nan")
    energy_self_j: float = float("nan")
    scope: str = "leaf"
    provenance: str = "unresolved"
    boards: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a dict, the old ones first."""
        return asdict(self)


class GPUMonitor:
    """Power and memory of one board.

    Parameters
    ----------
    device_index : int
        CUDA index of the board; for a simulated board its index.

    Raises
    ------
    joulemap.NoDeviceError
        If there is no such board.
    """

    POWER_SPAN_S = 0.1

    def __init__(self, device_index: int = 0) -> None:
        self.device_index = device_index
        self._board = find_gpu(device_index)

    def get_power(self) -> float:
        """Return the board's mean power over 0.1 s, watts. This waits for the sensor's readings."""
        with shared.held(kernels=False) as session:
            begin_ns = time.monotonic_ns()
            time.sleep(self.POWER_SPAN_S)
            report = session.report("board", from_ns=begin_ns, to_ns=time.monotonic_ns())
            duration_s = report.totals.duration_s
            for row in report.rows:
                if row.boards == str(self._board.index) and duration_s and row.energy_j is not None:
                    return row.energy_j / duration_s
        raise _core.Error(
            f"no power reading of {self._board.name} came in: run `joulemap doctor` to see what is missing"
        )

    def get_gpu_info(self) -> dict[str, Any]:
        """Return name and memory (`memory_total_gb`, `memory_used_gb`, `memory_free_gb`).

        Raises
        ------
        joulemap.Error
            If the driver does not report the board's memory.
        """
        board = find_gpu(self.device_index)
        total, free = board.memory_total_bytes, board.memory_free_bytes
        if total is None or free is None:
            raise _core.Error(f"the driver does not tell the memory of {board.name}: run `joulemap doctor`")
        return {
            "name": board.name,
            "memory_total_gb": total / 1024**3,
            "memory_used_gb": (total - free) / 1024**3,
            "memory_free_gb": free / 1024**3,
        }


class LayerPowerProfiler:
    """Power and energy of every layer of a model in inference.

    Parameters
    ----------
    model : torch.nn.Module
        The model, on one device or, with `device_map="auto"`, on several.
    device_index : int
        The board of the summary's name, memory and power; layers are measured on all boards.
    """

    def __init__(self, model: torch.nn.Module, device_index: int = 0) -> None:
        self.model = model
        self.device_index = device_index
        self.monitor = GPUMonitor(device_index)
        self.results: list[LayerMetrics] = []

    def profile(self, inputs: Any, num_runs: int = 1, warmup: bool = True) -> list[LayerMetrics]:
        """Measure forward passes.

        Parameters
        ----------
        inputs : tensor, tuple, list or mapping
            A tensor is the only argument, a tuple or list has the positional ones, a mapping those by name.
        num_runs : int
            Number of measured forward passes.
        warmup : bool
            Run the model for a second first, so that the sensor has enough readings of each layer. Without it a short
            run has wide intervals.

        Returns
        -------
        list of LayerMetrics
            One per execution of a layer; a new list each time.
        """
        if num_runs < 1:
            raise ValueError(f"num_runs is {num_runs}: at least one run is needed")
        arguments, named = self._arguments(inputs)
        return self._measure(lambda: self.model(*arguments, **named), num_runs, warmup)

    def profile_generation(
        self, inputs: Any, max_new_tokens: int = 50, warmup: bool = True, **generate_kwargs: Any
    ) -> list[LayerMetrics]:
        """Measure one call of `model.generate`; parameters and result as for `profile`.

        Raises
        ------
        ValueError
            If the model has no `generate`.
        """
        generate = getattr(self.model, "generate", None)
        if generate is None:
            raise ValueError(f"{type(self.model).__name__} has no generate(): use profile() for forward passes")
        arguments, named = self._arguments(inputs)
        named = {**named, "max_new_tokens": max_new_tokens, **generate_kwargs}
        return self._measure(lambda: generate(*arguments, **named), 1, warmup)

    def _measure(self, call: Callable[[], Any], num_runs: int, warmup: bool) -> list[LayerMetrics]:
        import torch

        modes = [(module, module.training) for module in self.model.modules()]
        self.model.eval()
        try:
            with shared.held(kernels="auto") as session, torch.no_grad():
                # The fit includes the warm-up: a single pass is shorter than two readings of the sensor.
                if warmup:
                    with session.phase("warmup"):
                        call()  # the first call compiles, and chooses algorithms
                        synchronize()
                fit_from_ns = time.monotonic_ns()
                watch = session.watch(self.model)
                try:
                    if warmup:
                        with session.phase("warmup"):
                            self._warm_up(call, len(modes))
                    begin_ns = time.monotonic_ns()
                    with session.phase("profile"):
                        for _ in range(num_runs):
                            call()
                        synchronize()
                    end_ns = time.monotonic_ns()
                finally:
                    watch.remove()
                report = session.report("span", from_ns=fit_from_ns, to_ns=end_ns, process_id=os.getpid())
            rows = [row for row in report.rows if row.start_ns >= begin_ns]
        finally:
            for module, training in modes:
                module.training = training
        if any(row.kind == "forward" and row.energy_j is None for row in rows):
            raise _core.Error(
                "no reading of the board's power came in while the model ran: "
                "run `joulemap doctor` to see what is missing"
            )
        self.results = _metrics(rows)
        return self.results

    def _warm_up(self, call: Callable[[], Any], modules: int) -> None:
        end = time.monotonic() + WARMUP_S
        calls = 0
        while True:
            call()
            synchronize()
            calls += modules
            if time.monotonic() >= end or calls >= MAX_WARMUP_CALLS:
                return

    def _arguments(self, inputs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return positional and named arguments, on the device of the model's first parameter."""
        import torch

        parameter = next(self.model.parameters(), None)
        device = None if parameter is None or parameter.device.type == "meta" else parameter.device

        def move(value: Any) -> Any:
            return value.to(device) if device is not None and isinstance(value, torch.Tensor) else value

        if isinstance(inputs, Mapping):
            return (), {str(name): move(value) for name, value in inputs.items()}
        if isinstance(inputs, tuple | list):
            return tuple(move(value) for value in inputs), {}
        return (move(inputs),), {}

    # ---- results ----

    def _known(self) -> list[LayerMetrics]:
        if not self.results:
            raise RuntimeError("nothing was profiled yet: call profile() or profile_generation() first")
        return self.results

    def _top(self, field: str) -> list[LayerMetrics]:
        """Return the ten executions of leaves with the largest value of a field."""
        leaves = [metrics for metrics in self._known() if metrics.scope == "leaf"]
        known = [metrics for metrics in leaves if getattr(metrics, field) == getattr(metrics, field)]
        return sorted(known, key=lambda metrics: -getattr(metrics, field))[:10]

    def save_results(self, filename: str = "layer_power_profile.csv") -> None:
        """Write all executions to `filename`, and the ten leaves with the most power to `{base}_top10.csv`."""
        path = Path(filename)
        _write_csv(path, self._known())
        _write_csv(path.with_name(f"{path.stem}_top10{path.suffix or '.csv'}"), self._top("avg_power_w"))

    def print_summary(self) -> None:
        """Print board, totals, and the ten leaves with the most power and the most time."""
        results = self._known()
        info = self.monitor.get_gpu_info()
        outermost = _outermost(results)
        duration_ms = sum(metrics.duration_ms for metrics in outermost)
        energy_j = sum(metrics.energy_self_j for metrics in results)
        print("\n" + "=" * 80)
        print("PROFILING SUMMARY")
        print("=" * 80)
        print(f"\nGPU: {info['name']}")
        print(f"GPU Memory: {info['memory_used_gb']:.2f} GB / {info['memory_total_gb']:.2f} GB")
        print(f"\nTotal Execution Time: {duration_ms:.2f} ms")
        print(f"Total Energy Consumed: {energy_j:.3f} J")
        if duration_ms > 0:
            print(f"Average Power Draw: {energy_j / duration_ms * 1e3:.2f} W")
        for title, field in (("Power", "avg_power_w"), ("Time", "duration_ms")):
            print(f"\nTop 10 {title} Consumers:")
            _print_table(self._top(field))
        print("=" * 80)

    def get_results_dataframe(self) -> pd.DataFrame:
        """Return all executions as a pandas DataFrame, the old columns first."""
        frame: pd.DataFrame = import_pandas().DataFrame([metrics.to_dict() for metrics in self._known()])
        return frame

    def get_summary_stats(self) -> pd.DataFrame:
        """Return statistics of each layer: two-level columns, such as ("duration_ms", "std")."""
        grouped = self.get_results_dataframe().groupby("layer_name", sort=False)
        stats: pd.DataFrame = grouped.agg(
            {
                "duration_ms": ["mean", "std", "min", "max"],
                "avg_power_w": ["mean", "std", "min", "max"],
                "energy_j": ["sum", "mean", "std"],
            }
        )
        return stats


def _metrics(rows: list[Row]) -> list[LayerMetrics]:
    """Return executions in order of start, from rows in pre-order of their tree."""
    unix_ns = time.time_ns() - time.monotonic_ns()
    layers = [row for row in rows if row.kind == "forward"]
    is_leaf = [after.depth <= row.depth for row, after in pairwise(layers)] + [True]
    metrics = []
    for i, row in enumerate(layers):
        last = i
        while last + 1 < len(layers) and layers[last + 1].depth > row.depth:
            last += 1
        ran = [layers[j] for j in range(i, last + 1) if is_leaf[j] and layers[j].power_w is not None]
        first = min(ran, key=lambda leaf: leaf.start_ns, default=row)
        final = max(ran, key=lambda leaf: leaf.end_ns, default=row)
        metrics.append(
            LayerMetrics(
                layer_name=row.path or row.name,
                exec_id=0,
                start_time=(row.start_ns + unix_ns) / 1e9,
                end_time=(row.end_ns + unix_ns) / 1e9,
                duration_ms=(row.end_ns - row.start_ns) / 1e6,
                start_power_w=_number(first.power_w),
                end_power_w=_number(final.power_w),
                avg_power_w=_number(row.power_w),
                energy_j=_number(row.energy_j),
                energy_low_j=_number(row.energy_low_j),
                energy_high_j=_number(row.energy_high_j),
                energy_self_j=_number(row.energy_self_j),
                scope="inclusive" if last > i else "leaf",
                provenance=row.provenance,
                boards=row.boards,
            )
        )
    metrics.sort(key=lambda one: (one.start_time, -one.end_time))
    for i, one in enumerate(metrics):
        one.exec_id = i
    return metrics


def _outermost(results: list[LayerMetrics]) -> list[LayerMetrics]:
    """Return the executions that are not inside of others."""
    outermost: list[LayerMetrics] = []
    for metrics in results:
        if not outermost or metrics.end_time > outermost[-1].end_time:
            outermost.append(metrics)
    return outermost


def _number(value: float | None) -> float:
    return float("nan") if value is None else value


def _write_csv(path: Path, results: list[LayerMetrics]) -> None:
    """Write rows with a header; unknown values are empty fields."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([field.name for field in fields(LayerMetrics)])
        for metrics in results:
            writer.writerow([cell(value) for value in metrics.to_dict().values()])


def _print_table(results: list[LayerMetrics]) -> None:
    width = max([len("layer_name"), *(len(metrics.layer_name) for metrics in results)])
    print(f"{'layer_name':>{width}}  avg_power_w  duration_ms    energy_j")
    for metrics in results:
        print(
            f"{metrics.layer_name:>{width}}  {metrics.avg_power_w:11.3f}  {metrics.duration_ms:11.6f}  "
            f"{metrics.energy_j:10.6f}"
        )
