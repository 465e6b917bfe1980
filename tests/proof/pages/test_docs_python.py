"""The examples of docs/python.md, run from top to bottom on the simulated board."""

from __future__ import annotations

import functools
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joulemap
import joulemap.torch
import pytest
import torch
from torch import nn

PAGE = Path(__file__).parents[3] / "docs" / "python.md"
EXAMPLES = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attn = nn.Linear(16, 16)
        self.mlp = nn.Sequential(nn.Linear(16, 64), nn.GELU(), nn.Linear(64, 16))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attn(x)
        return x + self.mlp(x)  # type: ignore[no-any-return]


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Block() for _ in range(1))  # isolate() takes its time with each

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = block(x)
        return x


def names() -> dict[str, Any]:
    """What the examples take as given."""
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x, y = torch.randn(8, 16), torch.randn(8, 16)

    def train_step(x: torch.Tensor, y: torch.Tensor) -> None:
        for _ in range(20):
            nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()

    return {"joulemap": joulemap, "torch": torch, "model": model, "x": x, "y": y} | {
        "train_step": train_step,
        "loader": [(x, y)] * 20,
    }


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A minute of bursts, with a bar, is more than a test takes."""
    isolate: Callable[..., Any] = functools.partial(joulemap.torch.isolate, seconds=0.1, progress=False)
    monkeypatch.setattr(joulemap.torch, "isolate", isolate)


def record(path: str, given: dict[str, Any]) -> None:
    with joulemap.Session(path, cpu=False) as run:
        run.watch(given["model"])
        for x, y in given["loader"]:
            with run.step(samples=len(x)):
                given["train_step"](x, y)


@pytest.mark.filterwarnings("ignore:CUDA is not available")
def test_every_example_of_the_page_runs(
    quick: None,
    fresh_dynamo: None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JOULEMAP_SIM", "h200")
    given = names()
    record("run.joulemap", given)
    shutil.copy("run.joulemap", "changed.joulemap")
    assert len(EXAMPLES) >= 7
    for example in EXAMPLES:
        exec(compile(example, str(PAGE), "exec"), given)
    printed = capsys.readouterr().out
    assert "'blocks.0', 'blocks.0.attn'" in printed  # of the compiled model
    assert printed.count("Energy by layer, SIMULATED GPU") >= 4
    assert "<joulemap.types.Sum " in printed
    assert printed.count("Traced at times") == 2  # once a window
    assert (tmp_path / "layers.csv").stat().st_size > 0
