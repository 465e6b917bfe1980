"""Programs of the five older tools run unchanged: one or two a tool (test_docs_compat.py has those of the page).

tests/proof/compat has the rest.
"""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from joulemap.compat import gpu_profiler

DATA = Path(__file__).parents[1] / "data" / "ncu"


TORCH_PARTS = """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 10))
trainloader = DataLoader(TensorDataset(torch.randn(70, 3, 32, 32), torch.randint(10, (70,))), batch_size=32)
optimizer = torch.optim.Adam(model.parameters())
loss_fn = nn.CrossEntropyLoss()
"""


def run(script: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "joulemap.compat", str(script), *arguments],
        cwd=script.parent,
        env={**os.environ, "JOULEMAP_SIM": "h200"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_an_unmodified_script_runs(tmp_path: Path) -> None:
    script = tmp_path / "old.py"
    (tmp_path / "layer_power_profiler.py").write_text("raise SystemExit('the old tool was imported')\n")
    script.write_text(
        textwrap.dedent(
            """
            import sys
            import torch
            from layer_power_profiler import LayerPowerProfiler

            model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU())
            profiler = LayerPowerProfiler(model, device_index=0)
            results = profiler.profile(torch.randn(16, 64), num_runs=2, warmup=False)
            profiler.print_summary()
            profiler.save_results("out.csv")
            print(__name__, sys.argv[1:], len(results))
            """
        )
    )
    assert run(script, "--flag", "x").endswith("__main__ ['--flag', 'x'] 6\n")
    assert (tmp_path / "out.csv").exists()
    assert (tmp_path / "out_top10.csv").exists()


def test_a_script_that_trains_and_exports_runs_unchanged(tmp_path: Path) -> None:
    (tmp_path / "powerdl").mkdir()
    (tmp_path / "powerdl" / "__init__.py").write_text("raise SystemExit('the old tool was imported')\n")
    script = tmp_path / "old.py"
    text = TORCH_PARTS + textwrap.dedent(
        """
        from powerdl.highlevel import profile_torch

        with profile_torch(out_dir="runs", device_index=0, interval_s=0.02, amp=True, verbose=1) as prof:
            prof.train(model, trainloader, optimizer, loss_fn, epochs=2)
            prof.infer_tensor(model, batch_size=64, n_samples=500)
            rep = prof.report()
        rep.export("out", include_csv=True, include_summary=True, include_figures=False)
        print(rep.summary["gpu_name"], len(rep.summary["batch_rows"]))
        """
    )
    script.write_text(text)
    assert run(script).endswith("NVIDIA H200 6\n")
    for folder in ("out", "runs"):
        names = sorted(path.name for path in (tmp_path / folder).iterdir())
        assert names == ["batches.csv", "epochs.csv", "marks.csv", "samples.csv", "summary.json"]
    found = json.loads((tmp_path / "out" / "summary.json").read_text())
    with (tmp_path / "out" / "batches.csv").open(newline="") as file:
        batches = list(csv.DictReader(file))
    assert [row["batch_size"] for row in batches] == ["32", "32", "6"] * 2
    assert sum(float(row["energy_j"]) for row in batches) == pytest.approx(found["train_energy_j"])


def test_the_mode_is_avg_if_none_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))  # no models of whoever runs this
    monkeypatch.chdir(tmp_path)
    assert gpu_profiler.main(["-c", str(DATA / "stencil.csv.gz")]) == 0
    assert list(next(csv.DictReader((tmp_path / "predictions.csv").open())))[:2] == ["filename", "pred_avg"]
