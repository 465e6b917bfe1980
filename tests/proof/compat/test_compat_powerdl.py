"""PowerDL's profile_torch on the simulated board: names, files, exact counts, joules that add up."""

from __future__ import annotations

import csv
import json
import math
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import joulemap
import pytest
import torch
from joulemap.compat.powerdl import Report, TorchRunConfig, profile_torch
from joulemap.compat.powerdl.highlevel_torch import TorchProfile
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

SAMPLES = "t,p_w,gpu_util,mem_util,ts"
MARKS = "name,t,meta"
BATCHES = "batch,batch_size,time_s,energy_j,avg_power_w,j_per_sample,throughput_img_s,loss"
EPOCHS = "epoch,time_s,energy_j,avg_power_w"
SUMMARY = [
    "train_energy_j",
    "train_time_s",
    "train_avg_power_w",
    "epoch_energies",
    "batch_rows",
    "infer_energy_j",
    "infer_time_s",
    "infer_avg_power_w",
    "epoch_avg_gpu_util_pct",
    "epoch_avg_mem_util_pct",
    "gpu_name",
]
INFERRED = [
    "infer_energy_j",
    "infer_time_s",
    "infer_avg_power_w",
    "infer_j_per_sample",
    "infer_throughput_img_s",
    "infer_avg_gpu_util",
    "infer_avg_mem_util",
]


@pytest.fixture(autouse=True)
def simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOULEMAP_SIM", "h200")


class Paced(nn.Module):
    """A classifier that takes as long as it is told, and counts what it is given."""

    def __init__(self, pause_s: float = 0.005, features: int = 8) -> None:
        super().__init__()
        self.layer = nn.Linear(features, 3)
        self.pause_s = pause_s
        self.sizes: list[int] = []

    def forward(self, x: Tensor) -> Tensor:
        time.sleep(self.pause_s)
        self.sizes.append(x.shape[0])
        out: Tensor = self.layer(x)
        return out


def pairs(samples: int, batch_size: int, features: int = 8) -> DataLoader[Any]:
    data = TensorDataset(torch.randn(samples, features), torch.randint(3, (samples,)))
    return DataLoader(data, batch_size=batch_size)


def train(p: TorchProfile, model: nn.Module, loader: Any, epochs: int) -> None:
    p.train(model, loader, torch.optim.SGD(model.parameters(), 0.01), nn.CrossEntropyLoss(), epochs)


@pytest.fixture(scope="module")
def profiled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Report, Path]:
    """Train twice, two epochs and one, of 50 samples in batches of 16; infer 100 samples in batches of 32."""
    os.environ["JOULEMAP_SIM"] = "h200"
    folder = tmp_path_factory.mktemp("powerdl")
    model = Paced(0.02)
    with profile_torch(out_dir=folder) as p:
        train(p, model, pairs(50, 16), 2)
        p.infer_tensor(model, batch_size=32, n_samples=100)
        train(p, model, pairs(50, 16), 1)
    return p.report(), folder


# ---- the interface, as it was written down ----


def test_files_have_the_old_headers_first(profiled: tuple[Report, Path]) -> None:
    _, folder = profiled
    headers = {path.stem: path.read_text().splitlines()[0] for path in folder.glob("*.csv")}
    assert headers["samples"] == SAMPLES
    assert headers["marks"] == MARKS
    assert headers["batches"] == f"{BATCHES},energy_low_j,energy_high_j,provenance,epoch"
    assert headers["epochs"] == f"{EPOCHS},energy_low_j,energy_high_j,provenance"


def test_the_summary_has_the_old_keys_first(profiled: tuple[Report, Path]) -> None:
    report, folder = profiled
    assert list(report.summary)[: len(SUMMARY)] == SUMMARY
    assert list(report.summary["epoch_energies"][0])[:4] == ["epoch", "energy_j", "time_s", "avg_power_w"]
    assert list(report.summary["batch_rows"][0])[:8] == BATCHES.split(",")
    written = json.loads((folder / "summary.json").read_text())
    assert written == report.summary
    assert written["gpu_name"] == "NVIDIA H200"
    assert written["simulated"] is True


def test_data_frames_have_the_old_columns(profiled: tuple[Report, Path]) -> None:
    report, _ = profiled
    assert list(report.samples_df.columns) == SAMPLES.split(",")
    assert list(report.marks_df.columns) == MARKS.split(",")


def test_figures_are_seventeen(profiled: tuple[Report, Path]) -> None:
    report, _ = profiled
    assert len(report.list_figures()) == 17
    with pytest.raises(ValueError, match="power_time, gpu_util_time"):
        report.plot_one("no_such_figure")


def test_arguments_and_defaults_are_the_old_ones() -> None:
    told = dict(vars(TorchRunConfig()))
    assert told == {
        "out_dir": None,
        "device_index": 0,
        "interval_s": 0.02,
        "amp": True,
        "verbose": 0,
        "collect_util": True,
        "max_samples": None,
        "max_memory_mb": None,
        "warn_at_pct": 0.8,
        "approx_bytes_per_sample": 1024,
        "auto_flush_dir": None,
        "auto_flush_prefix": "powerdl",
        "auto_flush_keep_marks": True,
    }
    assert profile_torch(**told).settings == TorchRunConfig()


def test_marks_come_in_order(profiled: tuple[Report, Path]) -> None:
    report, folder = profiled
    names = [mark.name for mark in report.marks()]
    batch = ["batch_start", "batch_end"]
    epoch = ["epoch_start", *batch * 4, "epoch_end"]
    assert names == [
        "session_start",
        "train_start",
        *epoch * 2,
        "train_end",
        "warmup_start",
        "warmup_end",
        "infer_start",
        "infer_end",
        "train_start",
        *epoch,
        "train_end",
        "session_end",
    ]
    ends = [mark.meta for mark in report.marks() if mark.name == "batch_end"]
    assert [(meta["batch"], meta["batch_size"]) for meta in ends[:4]] == [(0, 16), (1, 16), (2, 16), (3, 2)]
    assert [meta["loss"] for meta in ends] == [row["loss"] for row in report.summary["batch_rows"]]
    with (folder / "marks.csv").open(newline="") as file:
        written = list(csv.DictReader(file))
    assert [row["name"] for row in written] == names
    assert [json.loads(row["meta"]) for row in written if row["name"] == "batch_end"] == ends


def test_all_calls_need_with() -> None:
    p = profile_torch()
    model = Paced()
    for call in (
        lambda: train(p, model, pairs(4, 2), 1),
        lambda: p.infer_tensor(model, 2, 4),
        lambda: p.infer(model, 2, 4),
        lambda: p.report(),
        lambda: p.mark("mine"),
    ):
        with pytest.raises(RuntimeError, match="inside `with"):
            call()


def test_after_with_nothing_more_is_measured() -> None:
    with profile_torch() as p:
        pass
    with pytest.raises(RuntimeError, match="inside `with"):
        train(p, Paced(), pairs(4, 2), 1)
    summary = p.report().summary
    assert (summary["train_energy_j"], summary["infer_energy_j"], summary["batch_rows"]) == (None, None, [])
    with pytest.raises(RuntimeError, match="make a new one"), p:
        pass


def test_a_board_that_is_not_there_is_an_error_with_a_cure() -> None:
    with pytest.raises(joulemap.NoDeviceError, match="doctor"), profile_torch(device_index=5):
        pass


@pytest.mark.parametrize(
    ("name", "value"), [("interval_s", 0), ("max_samples", -1), ("device_index", "first"), ("auto_flush_prefix", 3)]
)
def test_an_argument_that_is_wrong_is_named(name: str, value: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=name):
        profile_torch(**{name: value})


# ---- joules ----


def test_batches_add_up_to_epochs_and_those_to_the_trainings(profiled: tuple[Report, Path]) -> None:
    summary = profiled[0].summary
    batches, epochs = summary["batch_rows"], summary["epoch_energies"]
    assert [(row["epoch"], row["batch"]) for row in batches] == [(e, b) for e in (0, 1, 0) for b in range(4)]
    for number, epoch in enumerate(epochs):
        own = batches[4 * number : 4 * number + 4]
        for key in ("energy_j", "time_s"):
            assert sum(row[key] for row in own) == pytest.approx(epoch[key], rel=1e-9)
    assert sum(epoch["energy_j"] for epoch in epochs) == pytest.approx(summary["train_energy_j"], rel=1e-9)
    assert sum(epoch["time_s"] for epoch in epochs) == pytest.approx(summary["train_time_s"], rel=1e-9)
    assert summary["train_avg_power_w"] == pytest.approx(summary["train_energy_j"] / summary["train_time_s"])


def test_every_figure_has_an_interval_and_says_how_it_is_known(profiled: tuple[Report, Path]) -> None:
    summary = profiled[0].summary
    for row in [*summary["batch_rows"], *summary["epoch_energies"]]:
        assert 0 < row["energy_low_j"] < row["energy_j"] < row["energy_high_j"]
        assert row["provenance"] in ("measured", "fitted", "weak")
        assert row["avg_power_w"] == pytest.approx(row["energy_j"] / row["time_s"])
    for name in ("train", "infer"):
        low, at, high = (summary[f"{name}_energy_{key}j"] for key in ("low_", "", "high_"))
        assert low < at < high


def test_both_trainings_count(profiled: tuple[Report, Path]) -> None:
    report, _ = profiled
    marks = [mark.t for mark in report.marks() if mark.name in ("train_start", "train_end")]
    first_s, second_s = marks[1] - marks[0], marks[3] - marks[2]
    assert max(first_s, second_s) < report.summary["train_time_s"] <= first_s + second_s


TRUTH_SCRIPT = """
import csv, json, os, sys, time
import torch
from torch import nn
import joulemap
from joulemap.compat.powerdl import profile_torch

KINDS = ("matmul", "conv")  # the simulated board draws other watts for each

class Paced(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 3)

        self.calls = 0

    def forward(self, x):
        self.calls += 1
        with joulemap.current_session().window("work", type=KINDS[self.calls % 2]):
            end = time.perf_counter() + 0.004
            while time.perf_counter() < end:
                pass
        return self.layer(x)

torch.set_num_threads(1)
model = Paced()
loader = [(torch.randn(4, 8), torch.randint(3, (4,))) for _ in range(60)]
with profile_torch() as p:
    time.sleep(0.3)
    p.train(model, loader, torch.optim.SGD(model.parameters(), 0.01), nn.CrossEntropyLoss(), 2)
    p.infer_tensor(model, 4, 200)
    time.sleep(0.3)
spans = p._session.timeline().spans
batches = [number for number, span in enumerate(spans) if span.type == "train batch"]
inside = {span.parent: span for span in spans if span.type in KINDS}
work = [[inside[number].type, inside[number].duration_s, spans[number].duration_s] for number in batches]
print(json.dumps({"summary": p.report().summary, "work": work}))
"""


def test_a_batch_shorter_than_the_sensor_period_has_joules_with_an_interval_that_holds_the_truth(
    tmp_path: Path,
) -> None:
    """120 batches of some 5 ms beside a sensor of 20 ms; the simulated board tells what it drew for them."""
    truth_path = tmp_path / "truth.csv"
    environment = {**os.environ, "JOULEMAP_SIM_TRUTH": str(truth_path), "XDG_RUNTIME_DIR": str(tmp_path)}
    script = tmp_path / "short.py"
    script.write_text(TRUTH_SCRIPT)
    done = subprocess.run(
        [sys.executable, str(script)], env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    with truth_path.open(newline="") as file:
        truth = {row["type"] or row["name"]: row for row in csv.DictReader(file)}
    power_w = {label: float(row["energy_j"]) / float(row["busy_s"]) for label, row in truth.items() if row["busy_s"]}
    assert abs(power_w["matmul"] / power_w["conv"] - 1) > 0.3
    rows = found["summary"]["batch_rows"]
    assert len(rows) == len(found["work"]) == 120
    assert sorted(row["time_s"] for row in rows)[60] < 0.02
    held = 0
    for row, (kind, inside_s, batch_s) in zip(rows, found["work"], strict=True):
        true_j = power_w[kind] * inside_s + power_w["train batch"] * (batch_s - inside_s)
        true_j += power_w["(idle)"] * (row["time_s"] - batch_s)
        assert row["energy_j"] > 0
        assert row["energy_high_j"] - row["energy_low_j"] < true_j  # an interval that tells something
        held += row["energy_low_j"] <= true_j <= row["energy_high_j"]
    assert held >= 0.95 * len(rows)


# ---- exact counts ----


@pytest.mark.parametrize(("batch_size", "n_samples"), [(32, 100), (7, 7), (64, 10), (10, 100), (3, 1)])
def test_samples_of_an_inference_are_counted_exactly(
    batch_size: int, n_samples: int, watching: joulemap.Session
) -> None:
    model = Paced(0.001)
    with profile_torch(collect_util=False) as p:
        found = p.infer_tensor(model, batch_size=batch_size, n_samples=n_samples)
    warm_up = min(3, math.ceil(n_samples / batch_size))
    assert sum(model.sizes[-math.ceil(n_samples / batch_size) :]) == n_samples
    assert model.sizes[-1] == (n_samples % batch_size or min(batch_size, n_samples))
    assert len(model.sizes) <= warm_up + math.ceil(n_samples / batch_size) + 1  # and one look for the input
    assert list(found) == INFERRED
    assert found["infer_throughput_img_s"] * found["infer_time_s"] == pytest.approx(n_samples)
    assert found["infer_j_per_sample"] * n_samples == pytest.approx(found["infer_energy_j"])
    assert p.report().summary["infer_n_samples"] == n_samples


def test_what_an_inference_returns_is_what_the_report_says(profiled: tuple[Report, Path]) -> None:
    with profile_torch() as p:
        found = p.infer_tensor(Paced(0.02), 4, 40)
    summary = p.report().summary
    assert summary["infer_time_s"] == pytest.approx(found["infer_time_s"])
    # readings that came after it tell more of its end
    assert summary["infer_energy_low_j"] < found["infer_energy_j"] < summary["infer_energy_high_j"]


def test_sizes_of_batches_are_exact(profiled: tuple[Report, Path]) -> None:
    rows = profiled[0].summary["batch_rows"]
    assert [row["batch_size"] for row in rows] == [16, 16, 16, 2] * 3
    for row in rows:
        assert row["throughput_img_s"] == pytest.approx(row["batch_size"] / row["time_s"])
        assert row["j_per_sample"] == pytest.approx(row["energy_j"] / row["batch_size"])


def test_losses_are_those_of_the_batches(watching: joulemap.Session) -> None:
    torch.manual_seed(1)
    model, loader = Paced(0.0), pairs(20, 5)
    expected = []
    clone = Paced(0.0)
    clone.load_state_dict(model.state_dict())
    optimizer = torch.optim.SGD(clone.parameters(), 0.01)
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(clone(x), y)
        loss.backward()
        optimizer.step()
        expected.append(loss.item())
    with profile_torch(collect_util=False) as p:
        train(p, model, loader, 1)
    assert [row["loss"] for row in p.report().summary["batch_rows"]] == pytest.approx(expected, rel=1e-6)


def test_no_batch_waits_for_its_loss(watching: joulemap.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[torch.Size] = []
    plain = Tensor.tolist

    def tell(tensor: Tensor) -> Any:
        read.append(tensor.shape)
        return plain(tensor)

    monkeypatch.setattr(Tensor, "tolist", tell)
    monkeypatch.setattr(Tensor, "item", lambda tensor: pytest.fail("a loss was read in the middle of an epoch"))
    model, batches = Paced(0.0), [(torch.randn(5, 8), torch.randint(3, (5,)))] * 12  # a DataLoader reads its own seed
    with profile_torch(collect_util=False) as p:
        train(p, model, batches, 2)
    assert read == [(12,), (12,)]  # once an epoch


# ---- what a model is given ----


class Named(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(11, 3)

    def forward(self, input_ids: Tensor, labels: Tensor | None = None) -> dict[str, Tensor]:
        logits = self.embed(input_ids).mean(1)
        found = {"logits": logits}
        if labels is not None:
            found["loss"] = nn.functional.cross_entropy(logits, labels)
        return found


@pytest.mark.parametrize("loss_fn", [None, nn.CrossEntropyLoss()])
def test_batches_may_be_dicts(loss_fn: nn.Module | None, watching: joulemap.Session) -> None:
    model = Named()
    batches = [{"input_ids": torch.randint(11, (4, 6)), "labels": torch.randint(3, (4,))} for _ in range(3)]
    with profile_torch(collect_util=False) as p:
        p.train_epochs(model, batches, torch.optim.SGD(model.parameters(), 0.1), loss_fn, 1)
        p.infer(model, 4, 10, data=batches)
        p.infer(model, 4, 10)
    summary = p.report().summary
    assert [row["batch_size"] for row in summary["batch_rows"]] == [4, 4, 4]
    assert all(row["loss"] > 0 for row in summary["batch_rows"])
    assert summary["infer_n_samples"] == 20


def image_model() -> nn.Module:
    return nn.Sequential(nn.Conv2d(1, 4, 3), nn.Flatten(), nn.Linear(4 * 26 * 26, 3))


@pytest.mark.parametrize(
    ("model", "shape"),
    [
        (nn.Linear(5, 2), (5,)),
        (image_model(), (1, 28, 28)),
        (nn.Sequential(nn.Conv2d(3, 4, 3), nn.AdaptiveAvgPool2d(1)), (3, 32, 32)),
        (nn.Sequential(nn.Flatten(), nn.Linear(784, 10)), (784,)),
        (nn.Sequential(nn.Embedding(50, 8), nn.Linear(8, 2)), (128,)),
        (nn.Sequential(nn.Conv1d(2, 4, 3), nn.Flatten(), nn.Linear(4 * 30, 2)), (2, 32)),
    ],
)
def test_the_shape_of_the_input_is_found(model: nn.Module, shape: tuple[int, ...], watching: joulemap.Session) -> None:
    seen: list[torch.Size] = []
    model.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0].shape))
    with profile_torch(collect_util=False) as p:
        p.infer_tensor(model, 4, 10)
    assert seen[-1] == (2, *shape)


def test_the_shape_is_that_of_the_training(watching: joulemap.Session) -> None:
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    seen: list[torch.Size] = []
    batches = [(torch.randn(2, 3, 17, 19), torch.randint(4, (2,)))]
    with profile_torch(collect_util=False) as p:
        train(p, model, batches, 1)
        model.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0].shape))
        p.infer_tensor(model, 4, 4)
        p.infer_tensor(model, 4, 4, input_shape=(3, 40, 40))
    assert {shape[1:] for shape in seen} == {(3, 17, 19), (3, 40, 40)}


def test_an_input_that_cannot_be_found_is_asked_for(watching: joulemap.Session) -> None:
    class Two(nn.Module):
        def forward(self, x: Tensor, y: Tensor) -> Tensor:
            return x + y

    with profile_torch(collect_util=False) as p, pytest.raises(ValueError, match="give input_shape"):
        p.infer_tensor(Two(), 4, 4)


def test_a_model_comes_back_in_its_mode(watching: joulemap.Session) -> None:
    model = Paced(0.0).eval()
    with profile_torch(collect_util=False) as p:
        train(p, model, pairs(4, 2), 1)
        assert not model.training
        model.train()
        p.infer_tensor(model, 4, 4)
        assert model.training


def test_a_training_that_fails_leaves_a_report_of_what_was(watching: joulemap.Session) -> None:
    model = Paced(0.01)

    def fails() -> Iterator[tuple[Tensor, Tensor]]:
        yield torch.randn(4, 8), torch.randint(3, (4,))
        yield torch.randn(4, 9), torch.randint(3, (4,))

    with profile_torch(collect_util=False) as p:
        train(p, model, pairs(8, 4), 1)
        with pytest.raises(RuntimeError, match="mat1 and mat2"):
            train(p, model, fails(), 1)
        train(p, model, pairs(8, 4), 1)
    rows = p.report().summary["batch_rows"]
    assert [row["batch_size"] for row in rows] == [4] * 6
    assert math.isclose(sum(row["energy_j"] for row in rows), p.report().summary["train_energy_j"])


# ---- the page, and figures ----


def test_the_example_of_the_page_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (Path(__file__).parents[3] / "docs" / "compat" / "powerdl.md").read_text()
    (example,) = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    monkeypatch.chdir(tmp_path)
    model = Paced()
    given = {"model": model, "loader": pairs(20, 5), "loss_fn": nn.CrossEntropyLoss()}
    exec(example, {**given, "optimizer": torch.optim.SGD(model.parameters(), 0.01)})
    whole, first = map(float, capsys.readouterr().out.split())
    assert 0 < first < whole
    assert (tmp_path / "out" / "summary.json").is_file()
    own = list(json.loads((tmp_path / "out" / "summary.json").read_text()))[len(SUMMARY) :]
    assert [key for key in own if f"`{key}`" not in page and "infer_energy_" not in key] == []


def test_every_figure_is_drawn_and_written(profiled: tuple[Report, Path], tmp_path: Path) -> None:
    report, _ = profiled
    written = report.export(tmp_path, include_csv=False, include_summary=False, include_figures=True)
    assert [path.name for path in written] == [f"{fig}.png" for fig in report.list_figures()]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in written)
    report.plot_one("power_time", out_dir=tmp_path, format="svg")
    assert "<svg" in (tmp_path / "power_time.svg").read_text()
