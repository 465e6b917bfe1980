"""Scripts for older tools (tests/compat), run unchanged beside a simulated GPU; bench/gpu/compat.py: on a GPU."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = sorted((Path(__file__).parents[1] / "compat").glob("*.py"))


def run(script: Path, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run a script beside a simulated GPU."""
    return subprocess.run(
        [sys.executable, "-m", "joulemap.compat", *options, str(script)],
        cwd=folder,
        env={**os.environ, "JOULEMAP_SIM": "h200", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_of_an_older_tool_runs_unchanged(script: Path, tmp_path: Path) -> None:
    done = run(script, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    asks_for_cuda = "cuda" in script.read_text()
    assert done.stderr.count("what asks for CUDA runs on the CPU") == asks_for_cuda, done.stderr
    if script.stem == "measurement_pieces":
        assert len((tmp_path / "test_energy_measurement_tool.csv").read_text().splitlines()) == 4  # one came at exit


def test_a_program_keeps_a_module_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "measurement.py").write_text("OWN = True\n")
    script = tmp_path / "program.py"
    script.write_text("import measurement, layer_power_profiler\nprint(hasattr(measurement, 'OWN'))\n")
    assert run(script, tmp_path).stdout == "False\n"
    assert run(script, tmp_path, "--keep", "measurement").stdout == "True\n"
    assert run(script, tmp_path, "--keep=measurement").stdout == "True\n"
    wrong = run(script, tmp_path, "--keep", "numpy")
    assert wrong.returncode == 1
    assert "--keep numpy: one of " in wrong.stderr


def test_a_module_is_one_under_both_names(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(
        "import measurement.energy, joulemap.compat.measurement as ours, joulemap.compat.measurement.energy as energy\n"
        "print(measurement is ours, measurement.energy is energy, measurement.__spec__.name)\n"
    )
    done = run(script, tmp_path)
    assert done.stdout == "True True joulemap.compat.measurement\n", done.stderr


CUDA = """
import torch
from torch import nn

assert not torch.cuda.is_available()
model = nn.Linear(4, 4).to("cuda").cuda().to(0).to(torch.device("cuda:0"))
nn.Linear(3, 3, device="cuda")
x = torch.randn(2, 4, device="cuda:0").to(device="cuda", dtype=torch.float32).cuda(0, non_blocking=True)
with torch.device("cuda"):
    assert torch.ones(3).device.type == "cpu"
torch.set_default_device("cuda")
assert torch.ones(2).device.type == "cpu"
torch.set_default_device("cpu")
model(x).sum().backward()
torch.cuda.synchronize()
torch.save(model.state_dict(), "model.pt")
model.load_state_dict(torch.load("model.pt", map_location="cuda"))
print(int(torch.tensor([3, 4], device="cuda").sum()), torch.zeros(2).to(torch.int64).dtype)
"""


def test_what_asks_for_cuda_runs_on_the_cpu_with_one_word(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(CUDA)
    done = run(script, tmp_path)
    assert done.stdout == "7 torch.int64\n", done.stderr
    assert done.stderr == ("joulemap.compat: no CUDA here, but a simulated GPU: what asks for CUDA runs on the CPU\n")
