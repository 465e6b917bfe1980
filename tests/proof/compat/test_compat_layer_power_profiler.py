"""The interface of GPUPP's layer_power_profiler, on the simulated board."""

from __future__ import annotations

import csv
import math
import os
import subprocess
import sys
from collections import UserDict
from pathlib import Path
from typing import Any

import joulemap
import pytest
import torch
from joulemap.compat.layer_power_profiler import COLUMNS, GPUMonitor, LayerMetrics, LayerPowerProfiler
from torch import Tensor, nn

HEADER = "layer_name,exec_id,start_time,end_time,duration_ms,start_power_w,end_power_w,avg_power_w,energy_j"


@pytest.fixture(autouse=True)
def simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOULEMAP_SIM", "h200")


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(256, 1024), nn.ReLU(), nn.Linear(1024, 256))
        self.head = nn.Linear(256, 16)
        self.dropout = nn.Dropout(0.5)

    def forward(self, x: Tensor, scale: Tensor | None = None) -> Tensor:
        out: Tensor = self.head(self.dropout(self.body(x)))
        return out if scale is None else out * scale

    def generate(self, x: Tensor, max_new_tokens: int, **_: Any) -> Tensor:
        for _step in range(max_new_tokens):
            x = x + self(x).mean()
        return x


LAYERS = ["Model", "body", "body.0", "body.1", "body.2", "dropout", "head"]


@pytest.fixture(scope="module")
def profiled() -> LayerPowerProfiler:
    """A profiler that has measured two runs."""
    os.environ["JOULEMAP_SIM"] = "h200"
    profiler = LayerPowerProfiler(Model())
    profiler.profile(torch.randn(512, 256), num_runs=2)
    return profiler


def test_every_layer_has_a_row_a_run(profiled: LayerPowerProfiler) -> None:
    names = [metrics.layer_name for metrics in profiled.results]
    assert sorted(names) == sorted(LAYERS * 2)
    assert [metrics.exec_id for metrics in profiled.results] == list(range(2 * len(LAYERS)))


def test_figures_of_a_layer_agree_with_each_other(profiled: LayerPowerProfiler) -> None:
    for metrics in profiled.results:
        assert metrics.end_time >= metrics.start_time
        assert metrics.duration_ms == pytest.approx((metrics.end_time - metrics.start_time) * 1e3, abs=1e-3)
        assert metrics.energy_low_j <= metrics.energy_j <= metrics.energy_high_j
        assert metrics.energy_j > 0
        assert 0 < metrics.avg_power_w < 1200
        assert metrics.start_power_w > 0
        assert metrics.end_power_w > 0


def test_containers_are_inclusive_and_totals_count_each_joule_once(profiled: LayerPowerProfiler) -> None:
    roots = [metrics for metrics in profiled.results if metrics.layer_name == "Model"]
    assert {metrics.scope for metrics in roots} == {"inclusive"}
    inclusive = sum(metrics.energy_j for metrics in roots)
    own = sum(metrics.energy_self_j for metrics in profiled.results)
    assert own == pytest.approx(inclusive, rel=1e-6)
    leaves = [metrics for metrics in profiled.results if metrics.scope == "leaf"]
    assert {metrics.layer_name for metrics in leaves} == {"body.0", "body.1", "body.2", "head", "dropout"}
    assert sum(metrics.energy_j for metrics in leaves) < inclusive


def test_a_container_starts_and_ends_with_the_power_of_its_parts(profiled: LayerPowerProfiler) -> None:
    for root in (metrics for metrics in profiled.results if metrics.layer_name == "Model"):
        parts = {
            metrics.layer_name: metrics
            for metrics in profiled.results
            if root.start_time <= metrics.start_time <= root.end_time
        }
        assert root.start_power_w == parts["body.0"].avg_power_w
        assert root.end_power_w == parts["head"].avg_power_w


def test_times_are_unix_seconds(profiled: LayerPowerProfiler) -> None:
    import time

    assert all(abs(time.time() - metrics.start_time) < 600 for metrics in profiled.results)


def test_the_list_of_a_call_survives_the_next_call() -> None:
    profiler = LayerPowerProfiler(Model())
    first = profiler.profile(torch.randn(8, 256), warmup=False)
    kept = list(first)
    second = profiler.profile(torch.randn(8, 256), warmup=False)
    assert first == kept
    assert len(first) == len(second) == len(LAYERS)
    assert first is not second


def test_results_are_saved_in_the_old_columns_first(profiled: LayerPowerProfiler, tmp_path: Path) -> None:
    path = tmp_path / "power.csv"
    profiled.save_results(str(path))
    lines = path.read_text().splitlines()
    assert lines[0].startswith(HEADER + ",")
    assert ",".join(COLUMNS) == HEADER
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(profiled.results)
    for row, metrics in zip(rows, profiled.results, strict=True):
        assert float(row["energy_j"]) == metrics.energy_j
        assert float(row["start_time"]) == metrics.start_time
    with (tmp_path / "power_top10.csv").open(newline="") as file:
        top = [float(row["avg_power_w"]) for row in csv.DictReader(file)]
    assert 0 < len(top) <= 10
    assert top == sorted(top, reverse=True)


def test_a_value_that_is_not_known_is_an_empty_field(tmp_path: Path) -> None:
    profiler = LayerPowerProfiler(Model())
    unknown = float("nan")
    profiler.results = [LayerMetrics("identity", 0, 1.0, 1.0, 0.0, unknown, unknown, unknown, 0.0)]
    profiler.save_results(str(tmp_path / "power.csv"))
    assert "identity,0,1.0,1.0,0.0,,,,0.0," in (tmp_path / "power.csv").read_text()


def test_the_summary_has_the_old_lines(profiled: LayerPowerProfiler, capsys: pytest.CaptureFixture[str]) -> None:
    profiled.print_summary()
    out = capsys.readouterr().out
    assert out.count("=" * 80) == 3
    for text in (
        "PROFILING SUMMARY",
        "GPU: ",
        "Total Execution Time: ",
        "Total Energy Consumed: ",
        "Average Power Draw: ",
        "Top 10 Power Consumers:",
        "Top 10 Time Consumers:",
    ):
        assert text in out
    (line,) = [line for line in out.splitlines() if line.startswith("Total Energy Consumed: ")]
    own = sum(metrics.energy_self_j for metrics in profiled.results)
    assert float(line.split()[3]) == pytest.approx(own, abs=1e-3)


def test_statistics_have_two_level_columns(profiled: LayerPowerProfiler) -> None:
    frame = profiled.get_results_dataframe()
    assert list(frame.columns[: len(COLUMNS)]) == list(COLUMNS)
    summary = profiled.get_summary_stats()
    assert set(summary.index) == set(LAYERS)
    durations = frame[frame["layer_name"] == "head"]["duration_ms"]
    assert summary[("duration_ms", "std")]["head"] == pytest.approx(durations.std())
    assert summary[("energy_j", "sum")]["head"] == pytest.approx(frame[frame["layer_name"] == "head"]["energy_j"].sum())


def test_the_monitor_knows_power_and_name() -> None:
    monitor = GPUMonitor()
    assert 50 < monitor.get_power() < 300  # an idle H200
    info = monitor.get_gpu_info()
    assert list(info) == ["name", "memory_total_gb", "memory_used_gb", "memory_free_gb"]
    assert "H200" in info["name"]
    used, free, total = (info[f"memory_{what}_gb"] for what in ("used", "free", "total"))
    assert total > 100
    assert used + free == pytest.approx(total)


def test_memory_that_the_driver_does_not_tell_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monitor = GPUMonitor()
    monkeypatch.setenv("JOULEMAP_SIM_FAULTS", "nvmlDeviceGetMemoryInfo=NOT_SUPPORTED")
    with pytest.raises(joulemap.Error, match="does not tell the memory of NVIDIA H200"):
        monitor.get_gpu_info()


def test_a_board_that_is_not_there_is_an_error_with_a_cure() -> None:
    with pytest.raises(joulemap.NoDeviceError, match="doctor") as caught:
        GPUMonitor(7)
    assert caught.value.hint == ""


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [([], 2, "usage:"), (["--help"], 0, "usage:"), (["missing.py"], 1, "no such file")],
)
def test_the_runner_explains_itself(arguments: list[str], code: int, text: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "joulemap.compat", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == code
    assert text in done.stdout + done.stderr


# ---- inside one open session ----


@pytest.mark.parametrize("inputs", ["tensor", "tuple", "list", "dict", "mapping"])
def test_inputs_of_every_shape_are_taken(inputs: str, watching: joulemap.Session) -> None:
    x = torch.randn(8, 256)
    scale = torch.ones(16)
    given: Any = {
        "tensor": x,
        "tuple": (x, scale),
        "list": [x, scale],
        "dict": {"x": x, "scale": scale},
        "mapping": UserDict({"x": x}),
    }[inputs]
    results = LayerPowerProfiler(Model()).profile(given, warmup=False)
    assert len(results) == len(LAYERS)


def test_a_short_run_without_warm_up_has_an_honest_interval(watching: joulemap.Session) -> None:
    results = LayerPowerProfiler(Model()).profile(torch.randn(8, 256), warmup=False)
    for metrics in results:
        assert math.isfinite(metrics.energy_low_j)
        assert math.isfinite(metrics.energy_high_j)
        assert metrics.energy_low_j <= metrics.energy_j <= metrics.energy_high_j


def test_the_model_comes_back_as_it_was(watching: joulemap.Session) -> None:
    model = Model().train()
    model.head.eval()
    LayerPowerProfiler(model).profile(torch.randn(8, 256), warmup=False)
    assert model.training
    assert not model.head.training
    assert all(not module._forward_hooks for module in model.modules())


def test_generation_gives_a_row_a_token_and_layer(watching: joulemap.Session) -> None:
    profiler = LayerPowerProfiler(Model())
    results = profiler.profile_generation({"x": torch.randn(8, 256)}, max_new_tokens=5, warmup=False)
    assert [metrics.layer_name for metrics in results].count("head") == 5


def test_generation_without_generate_is_a_value_error(watching: joulemap.Session) -> None:
    with pytest.raises(ValueError, match="generate"):
        LayerPowerProfiler(nn.Linear(4, 4)).profile_generation(torch.randn(1, 4))


def test_asking_before_profiling_says_what_to_do(watching: joulemap.Session) -> None:
    with pytest.raises(RuntimeError, match="profile"):
        LayerPowerProfiler(Model()).print_summary()


def test_it_works_inside_an_open_session(watching: joulemap.Session) -> None:
    results = LayerPowerProfiler(Model()).profile(torch.randn(8, 256), warmup=False)
    assert len(results) == len(LAYERS)
    assert watching.running
