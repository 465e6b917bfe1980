"""Scripts written for PowerDL, from its interface alone, and its lower layer."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import joulemap
import pytest
from joulemap.compat.powerdl import (
    Mark,
    NvmlPowerReader,
    PowerRecorder,
    Sample,
    analysis,
    summary,
)


@pytest.fixture(autouse=True)
def simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOULEMAP_SIM", "h200")


def run_script(text: str, folder: Path, *arguments: str) -> str:
    """Run a script unchanged, beside a folder of the old tool's name that must not be imported."""
    (folder / "powerdl").mkdir()
    (folder / "powerdl" / "__init__.py").write_text("raise SystemExit('the old tool was imported')\n")
    script = folder / "old.py"
    script.write_text(textwrap.dedent(text))
    done = subprocess.run(
        [sys.executable, "-m", "joulemap.compat", str(script), *arguments],
        cwd=folder,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


TORCH_PARTS = """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 10))
trainloader = DataLoader(TensorDataset(torch.randn(70, 3, 32, 32), torch.randint(10, (70,))), batch_size=32)
optimizer = torch.optim.Adam(model.parameters())
loss_fn = nn.CrossEntropyLoss()
"""


def test_a_script_on_data_frames_and_marks_runs_unchanged(tmp_path: Path) -> None:
    text = TORCH_PARTS + textwrap.dedent(
        """
        import sys
        import powerdl

        prof = powerdl.profile_torch(auto_flush_dir=sys.argv[1], max_samples=100000, collect_util=False)
        with prof:
            prof.train_epochs(model, trainloader, optimizer, loss_fn, 40)
        rep = prof.report()
        samples, marks = rep.samples_df, rep.marks_df
        ends = marks[marks["name"] == "batch_end"]
        for t, meta in zip(ends["t"], ends["meta"]):
            assert 0 < t <= samples["t"].iloc[-1] + 0.02
            assert meta["batch_size"] in (32, 6) and meta["loss"] > 0
        start = marks[marks["name"] == "train_start"]["t"].iloc[0]
        during = samples[samples["t"] >= start]
        print(during["p_w"].mean() > 50, list(samples.columns))
        """
    )
    assert run_script(text, tmp_path, "flushed") == "True ['t', 'p_w', 'gpu_util', 'mem_util', 'ts']\n"


def test_a_script_of_the_torch_module_alone_runs_unchanged(tmp_path: Path) -> None:
    text = TORCH_PARTS + textwrap.dedent(
        """
        from powerdl.highlevel_torch import profile_torch

        try:
            profile_torch().infer(model)
        except RuntimeError:
            print("needs with")
        with profile_torch(max_memory_mb=64, warn_at_pct=0.9) as prof:
            for _ in range(2):
                prof.train(model, trainloader, optimizer, loss_fn, 1)
            prof.infer(model, 100, 250)
        rep = prof.report()
        try:
            rep.plot_one("not_a_figure")
        except ValueError as error:
            print("power_util_hexbin" in str(error), len(rep.list_figures()))
        print([epoch["epoch"] for epoch in rep.summary["epoch_energies"]], rep.summary["infer_energy_j"] > 0)
        """
    )
    assert run_script(text, tmp_path) == "needs with\nTrue 17\n[0, 0] True\n"


# ---- the lower layer ----


def test_the_reader_tells_what_is_now(session: joulemap.Session) -> None:
    sample = NvmlPowerReader().read()
    assert 50 < sample.p_w < 300  # an idle H200
    assert 0 <= sample.gpu_util <= 100
    assert 0 <= time.monotonic() - sample.t < 1
    assert abs(sample.ts - time.time()) < 60


def test_the_reader_of_a_board_that_is_not_there_says_what_to_do() -> None:
    with pytest.raises(joulemap.NoDeviceError, match="doctor"):
        NvmlPowerReader(9)


def test_a_recorder_keeps_samples_and_marks() -> None:
    recorder = PowerRecorder(interval_s=0.01)
    with pytest.raises(RuntimeError, match="inside `with"):
        recorder.stop()
    recorder.start()
    recorder.mark("train_start", lr=0.1)
    time.sleep(0.4)
    recorder.mark("train_end")
    recorder.stop()
    assert [mark.name for mark in recorder.marks] == ["session_start", "train_start", "train_end", "session_end"]
    assert recorder.marks[1].meta == {"lr": 0.1}
    known = [sample for sample in recorder.samples if not math.isnan(sample.p_w)]
    assert len(known) > 25
    found = summary.summarize(recorder.samples, recorder.marks)
    assert found["train_time_s"] == pytest.approx(0.4, abs=0.2)
    assert 50 < found["train_avg_power_w"] < 300
    assert found["infer_energy_j"] is None


def samples(*points: tuple[float, float]) -> list[Sample]:
    return [Sample(t, p_w, math.nan, math.nan, math.nan) for t, p_w in points]


def test_energy_is_the_integral_of_samples_between_times() -> None:
    ramp = samples((0, 100), (1, 200), (2, math.nan), (3, 200))
    assert analysis.integrate_energy(ramp) == pytest.approx(150 + 400)
    assert analysis.integrate_energy(ramp, 0.5, 1.5) == pytest.approx((150 + 200) / 4 + 100)
    assert math.isnan(analysis.integrate_energy(ramp[:1]))
    assert math.isnan(analysis.integrate_energy(ramp, 5, 6))


def test_segments_lie_between_their_marks() -> None:
    marks = [Mark("epoch_start", 1.0), Mark("batch_start", 1.1), Mark("epoch_end", 2.0), Mark("epoch_start", 3.0)]
    assert analysis.segments(marks, "epoch") == [("epoch", 1.0, 2.0)]
