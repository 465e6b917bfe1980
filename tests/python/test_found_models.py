"""`joulemap run`: layers and steps of programs that know nothing of joulemap."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from found_program import calls, recorded
from joulemap._cli import native_folder

MODEL = """
import sys

import torch
from torch import nn

torch.set_num_threads(1)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(50, 32)
        self.blocks = nn.ModuleList(nn.Linear(32, 32) for _ in range(2))

    def forward(self, ids):
        x = self.embedding(ids)
        for block in self.blocks:
            x = block(x)
        return x


model = Model()
ids = torch.randint(0, 50, (4, 16))
"""

TRAINING = """
optimizer = torch.optim.SGD(model.parameters())
for step in range(12):
    for part in range(2):
        model(ids).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    if step % 6 == 5:
        with torch.no_grad():
            for _ in range(3):
                model(ids)
"""

DISTILLATION = """
teacher = Model().eval()
optimizer = torch.optim.SGD(model.parameters())
for step in range(10):
    for part in range(2):
        with torch.no_grad():
            wanted = teacher(ids)
        (model(ids) - wanted).sum().backward()
    optimizer.step()
"""

INFERENCE = """
model.eval()
with torch.inference_mode():
    for _ in range(20):
        model(ids)
"""

OWN_SESSION = """
import joulemap

model(ids)
with joulemap.Session() as run:
    run.watch(model, "mine")
    for _ in range(5):
        with run.step():
            model(ids).sum().backward()
"""


def test_a_training_has_layers_and_a_step_for_each_of_its_optimizer(tmp_path: Path) -> None:
    report = recorded(tmp_path, MODEL + TRAINING)
    assert calls(report)["blocks.1"] == calls(report)["embedding"] == 12 * 2 + 2 * 3
    assert report["step_name"] == "step of the optimizer"
    assert report["kind_steps"] == 12
    assert report["tokens"] == (12 * 2 + 2 * 3) * 64  # gradients of two passes make a step
    assert report["steps"] == 12 + 2 * 3  # and those without gradients are steps of another kind
    first = report["stderr"].splitlines()[1]
    assert first.startswith("program.py ")
    assert "a step" in first


def test_a_teacher_is_part_of_the_step(tmp_path: Path) -> None:
    report = recorded(tmp_path, MODEL + DISTILLATION)
    assert report["step_name"] == "step of the optimizer"
    assert report["kind_steps"] == 10
    assert report["samples"] == 10 * 2 * 4 + 4  # the first call of all is a step of its own: nothing trains yet


def test_an_inference_has_a_step_for_each_forward_pass(tmp_path: Path) -> None:
    report = recorded(tmp_path, MODEL + INFERENCE)
    assert calls(report)["blocks.0"] == 20
    assert report["step_name"] == "forward pass"
    assert report["kind_steps"] == 20
    assert report["samples"] == 20 * 4


def test_a_session_of_the_program_takes_over(tmp_path: Path) -> None:
    report = recorded(tmp_path, MODEL + OWN_SESSION)
    assert calls(report)["mine.blocks.0"] == 5
    assert report["step_name"] == "step"
    assert report["kind_steps"] == 5


def test_transforms_without_weights_are_no_models(tmp_path: Path) -> None:
    program = MODEL + "crop = nn.ReLU()\nfor _ in range(10):\n    crop(model(ids))\n"
    assert "ReLU" not in calls(recorded(tmp_path, program))


def test_models_of_two_kinds_have_a_name_each(tmp_path: Path) -> None:
    report = recorded(
        tmp_path, MODEL + "other = nn.Sequential(nn.Linear(32, 4))\nfor _ in range(6):\n    other(model(ids))\n"
    )
    assert calls(report)["Sequential.0"] == calls(report)["blocks.0"] == 6


def test_a_sitecustomize_of_the_environment_is_loaded_as_ever(tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text("print('loaded from', __file__)\n")
    program = "import sys; print(sys.modules['sitecustomize'].__file__, [p for p in sys.path if p.endswith('start')])"
    report = recorded(tmp_path, program, path=str(tmp_path / "site"))
    theirs = tmp_path / "site" / "sitecustomize.py"
    assert report["stdout"] == f"loaded from {theirs}\n{theirs} []\n"


def test_a_python_without_joulemap_runs_as_ever(tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "torch.py").write_text("print('a torch')\n")
    (tmp_path / "site" / "joulemap.py").write_text("raise ImportError('another joulemap')\n")
    report = recorded(tmp_path, "import torch, sys; print(sys.version_info > (3,))", path=str(tmp_path / "site"))
    assert report["stdout"] == "a torch\nTrue\n"


@pytest.mark.parametrize("words", [["-c", "import torch; raise SystemExit(3)"], ["-c", "exit(3)"]])
def test_the_exit_code_is_the_programs(words: list[str], tmp_path: Path) -> None:
    done = subprocess.run(
        [native_folder() / "joulemap", "run", "-o", tmp_path / "run.joulemap", sys.executable, *words],
        env={**os.environ, "JOULEMAP_SIM": "h100"},
        capture_output=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 3
