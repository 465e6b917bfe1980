"""The guide's layer energy profiler, against the simulated board's watts."""

from __future__ import annotations

import csv
import sys
import time
from pathlib import Path
from typing import Any

import joulemap
import pytest
import torch
from joulemap._isolation import layers as isolation
from joulemap.compat.layer_energy_profiler import (
    LayerEnergyProfiler,
    PowerLogger,
    compare_precisions,
    pictures,
    visualize_layer_energy,
)
from joulemap.compat.layer_energy_profiler.int8 import Int8Linear, to_int8
from joulemap.compat.layer_energy_profiler.pictures import rounded_shares, table
from joulemap.plots import style
from torch import Tensor, nn

OLD_KEYS = [
    "layer_name",
    "layer_idx",
    "avg_power_w",
    "total_time_s",
    "energy_total_j",
    "energy_per_inference_mj",
    "num_loops",
    "latency_per_loop_ms",
    "num_power_samples",
]
CALL_S = 2e-3


@pytest.fixture(autouse=True)
def simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOULEMAP_SIM", "h200")


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolation, "LEAST_WINDOW_S", 0.02)
    monkeypatch.setattr(isolation, "MOST_WINDOW_S", 0.02)


class Linear(nn.Module):
    """520 W live (sim/profiles/h200.json), 2 ms without work for the CPU."""

    def forward(self, x: Tensor) -> Tensor:
        time.sleep(CALL_S)
        return x


class ReLU(Linear):
    """250 W live."""


class Embeddings(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.word = nn.Embedding(50, 8)

    def forward(self, ids: Tensor) -> Tensor:
        out: Tensor = self.word(ids)
        return out


class Transformer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.ModuleList([Linear(), ReLU()])

    def forward(self, x: Tensor) -> Tensor:
        for block in self.layer:
            x = block(x)
        return x


class Distil(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embeddings = Embeddings()
        self.transformer = Transformer()

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        out: Tensor = self.transformer(self.embeddings(ids) * mask[..., None])
        return out


class Classifier(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.distilbert = Distil()
        self.pre_classifier = nn.Linear(8, 8)
        self.classifier = nn.Linear(8, 2)

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        out: Tensor = self.classifier(self.pre_classifier(self.distilbert(input_ids, attention_mask)[:, 0]))
        return out


def blocks() -> nn.Sequential:
    return nn.Sequential(Linear(), ReLU(), Linear())


def test_each_layer_alone_has_its_own_energy() -> None:
    model = blocks().train()
    results = LayerEnergyProfiler(model).profile_all_layers(
        torch.ones(4, 8), batch_size=4, num_loops=50, seconds=1, progress=False
    )
    assert model.training
    assert [one["layer_name"] for one in results] == ["0", "1", "2"]
    for one, watts in zip(results, (520, 250, 520), strict=True):
        assert list(one)[: len(OLD_KEYS)] == OLD_KEYS
        # 2 ms at these watts; what the host adds to each call (up to some percent) draws the same.
        assert one["avg_power_w"] == pytest.approx(watts, rel=0.05)
        assert one["latency_per_loop_ms"] > 1e3 * CALL_S  # a busy machine sleeps longer
        assert one["energy_per_loop_mj"] == pytest.approx(one["avg_power_w"] * one["latency_per_loop_ms"])
        assert one["energy_per_sample_mj"] == one["energy_per_inference_mj"] == one["energy_per_loop_mj"] / 4
        assert one["energy_total_j"] == pytest.approx(50e-3 * one["energy_per_loop_mj"])
        assert one["total_time_s"] == pytest.approx(50e-3 * one["latency_per_loop_ms"])
        assert one["energy_low_j"] < one["energy_total_j"] < one["energy_high_j"]
        assert one["num_power_samples"] > 20  # 2.5 s of bursts at a reading each 20 ms: some 125
    assert sum(one["percent"] for one in results) == pytest.approx(100)
    assert joulemap.current_session() is None


def test_layers_of_a_distilbert_have_the_names_of_the_guide(quick: None) -> None:
    ids = torch.randint(0, 50, (20, 5))
    results = LayerEnergyProfiler(Classifier(), "cuda").profile_all_layers(
        ids, torch.ones_like(ids), seconds=0.1, progress=False
    )
    assert [(one["layer_idx"], one["layer_name"]) for one in results] == list(
        enumerate(["embeddings", "transformer_block_0", "transformer_block_1", "pre_classifier", "classifier"])
    )
    assert {one["batch_size"] for one in results} == {16}
    assert results[1]["path"] == "distilbert.transformer.layer.0"


def test_names_and_patterns_choose_layers(quick: None) -> None:
    x = torch.ones(2, 8)
    profiler = LayerEnergyProfiler(blocks(), layers={"first": "0", "last": "2"})
    with pytest.warns(RuntimeWarning, match="the input has 2 rows"):
        results = profiler.profile_all_layers(x, seconds=0.1, progress=False)
    assert [one["layer_name"] for one in results] == ["first", "last"]
    with pytest.raises(ValueError, match="no module 'nine'"):
        LayerEnergyProfiler(blocks(), layers=["nine"])
    with pytest.raises(ValueError, match="num_loops=0"):
        profiler.profile_all_layers(x, num_loops=0)


RESULT = {
    "layer_name": "a",
    "layer_idx": 0,
    "avg_power_w": 100.0,
    "total_time_s": 1.0,
    "energy_total_j": 100.0,
    "energy_per_inference_mj": 250.0,
    "num_loops": 100,
    "latency_per_loop_ms": 10.0,
    "num_power_samples": 50,
    "energy_per_loop_mj": 1000.0,
    "energy_per_sample_mj": 250.0,
    "percent": 100 / 3,
    "energy_low_j": 95.0,
    "energy_high_j": 105.0,
}


def test_shown_percentages_add_up_to_a_hundred() -> None:
    assert rounded_shares([1, 1, 1]) == [33.4, 33.3, 33.3]
    for values in ([1.0] * 7, [0.1, 5.03, 11.9], [3.3, 3.3, 0.0001], [7.0]):
        assert sum(round(10 * share) for share in rounded_shares(values)) == 1000
    three = [{**RESULT, "layer_name": name} for name in "abc"]
    lines = table(three).splitlines()
    assert [line.split()[5] for line in lines[1:4]] == ["33.4", "33.3", "33.3"]
    assert lines[4].split() == ["all", "3000.0000", "750.0000", "100.0", "30.0000", "100"]


def test_results_are_printed_written_and_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    results = [RESULT, {**RESULT, "layer_name": "b"}]
    visualize_layer_energy(results, tmp_path / "layers")
    assert "mJ/loop" in capsys.readouterr().out
    with (tmp_path / "layers.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["layer_name"] for row in rows] == ["a", "b"]
    assert float(rows[0]["energy_total_j"]) == 100
    assert (tmp_path / "layers.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ValueError, match="no results"):
        visualize_layer_energy([])


def test_bars_have_the_colours_of_all_figures() -> None:
    figure = pytest.importorskip("matplotlib.figure")
    colours = pytest.importorskip("matplotlib.colors")
    drawn = pictures.draw(figure.Figure, [{**RESULT, "layer_name": "$a"}])
    series = style.look(dark=False).series
    assert [colours.to_hex(ax.patches[0].get_facecolor()).upper() for ax in drawn.axes] == list(series[:2])
    assert drawn.axes[0].get_yticklabels()[0].get_text() == r"\$a"  # a name, no formula


def test_without_matplotlib_the_table_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"joulemap\[plot\]"):
        visualize_layer_energy([RESULT], tmp_path / "layers")
    assert (tmp_path / "layers.csv").exists()
    assert "mJ/loop" in capsys.readouterr().out


def test_watts_are_logged_with_their_times(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    script = tmp_path / "power.csv"
    script.write_text("0,36000,400,work\n")
    monkeypatch.setenv("JOULEMAP_SIM_SCRIPT", str(script))
    logger = PowerLogger(gpu_id=0, poll_interval_ms=100)
    logger.start()
    begin = time.time()
    time.sleep(1.0)
    readings = logger.stop()
    assert 9 <= len(readings) <= 13
    assert readings == pytest.approx([400] * len(readings), abs=15)  # noise of a reading: 2 to 8 W, 5 of them a value
    assert logger.readings == readings
    assert logger.timestamps == sorted(logger.timestamps)
    assert begin - 0.1 < logger.timestamps[0] < begin + 0.2
    with pytest.raises(RuntimeError, match="start"):
        logger.stop()


def test_precisions_stand_side_by_side(quick: None, tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(16, 32), nn.Linear(32, 16)).eval()
    before: dict[str, Any] = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    compared = compare_precisions(model, torch.randn(40, 16), seconds=0.1, progress=False)
    assert list(compared.results) == ["fp32", "fp16", "bf16", "int8"]
    assert all(sum(one["percent"] for one in rows) == pytest.approx(100) for rows in compared.results.values())
    assert "Int8Linear" in compared.results["int8"][0]["type"]
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())
    head, first, *_, last = str(compared).splitlines()
    assert head.split() == ["layer", "fp32", "mJ", "%", "fp16", "mJ", "%", "bf16", "mJ", "%", "int8", "mJ", "%"]
    assert first.startswith("0 ")
    assert last.split()[2::2] == ["100.0"] * 4
    compared.save(tmp_path / "precisions.csv")
    assert len((tmp_path / "precisions.csv").read_text().splitlines()) == 1 + 4 * 2
    with pytest.raises(ValueError, match="fp32, fp16, bf16, int8"):
        compare_precisions(model, torch.randn(4, 16), dtypes=("fp8",))
    with pytest.raises(ValueError, match="no Linear layer"):
        compare_precisions(blocks(), torch.randn(4, 16), dtypes=("int8",))


@pytest.mark.parametrize(("rows", "inside", "outside"), [(1, 8, 8), (40, 16, 24), (33, 13, 7)])
def test_products_of_8_bits_are_near_the_exact_ones(rows: int, inside: int, outside: int) -> None:
    linear = nn.Linear(inside, outside)
    x = torch.randn(2, rows, inside)
    exact, near = linear(x), Int8Linear(linear)(x)
    assert near.shape == exact.shape
    # Both factors are rounded to 1/127 of their largest: an error of 1/254 each, over `inside` random terms.
    size = x.abs().max() * linear.weight.abs().max() * inside**0.5
    assert (near - exact).abs().max() < 0.01 * size
    model = nn.Sequential(linear, nn.TransformerEncoderLayer(8, 2, 8), nn.ModuleList([nn.Linear(2, 2)]))
    assert to_int8(model) == 2
