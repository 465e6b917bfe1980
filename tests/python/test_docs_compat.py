"""The examples and the calls of docs/compat.md, run on the simulated board."""

from __future__ import annotations

import functools
import inspect
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import joulemap
import joulemap.caps
import pytest
import torch
from joulemap._cli import native_folder
from joulemap._isolation import layers as isolation
from joulemap.compat import MODULES
from torch import nn

PAGE = Path(__file__).parents[2] / "docs" / "compat.md"
EXAMPLE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
EXAMPLES = EXAMPLE.findall(PAGE.read_text(encoding="utf-8"))
COMMAND = str(native_folder() / "joulemap")
OTHERS = ("Zeus", "CodeCarbon", "torch.profiler")


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embeddings = nn.Embedding(10, 8)
        self.classifier = nn.Linear(8, 2)

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = self.classifier((self.embeddings(input_ids) * attention_mask[..., None]).mean(dim=1))
        return out


@pytest.mark.filterwarnings("ignore:the CPU's energy cannot be read")
@pytest.mark.parametrize("module", ["measurement", "layer_energy_profiler", "profiler"])
def test_the_example_of_a_tool_runs(module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JOULEMAP_SIM", "h200")
    monkeypatch.setenv("JOULEMAP_CAPS_DIR", str(tmp_path / "leases"))
    monkeypatch.setattr(joulemap.compat, "isolation_s", 0.5)
    monkeypatch.setattr(isolation, "LEAST_WINDOW_S", 0.02)
    monkeypatch.setattr(isolation, "MOST_WINDOW_S", 0.02)
    ids = torch.zeros(16, 4, dtype=torch.int64)
    given: dict[str, Any] = {
        "train": lambda epoch: None,
        "model": Model(),
        "input_ids": ids,
        "attention_mask": torch.ones_like(ids),
    }
    if module == "profiler":
        model = nn.Linear(4, 2)
        given |= {
            "model": model,
            "dataloader": [(torch.ones(8, 4), torch.zeros(8, dtype=torch.int64))],
            "loss_fn": nn.functional.cross_entropy,
            "optimizer": torch.optim.SGD(model.parameters(), lr=0.1),
        }
    (example,) = (text for text in EXAMPLES if f"from joulemap.compat.{module} " in text)
    exec(compile(example, str(PAGE), "exec"), given)
    names = {"measurement": "energy.csv", "layer_energy_profiler": "layer_energy.png", "profiler": "caps.csv"}
    written = names[module]
    assert (tmp_path / written).stat().st_size > 0


def test_the_example_of_the_monitor_runs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("JOULEMAP_SIM", "h200")
    (example,) = (text for text in EXAMPLES if "from joulemap.compat.zeus.monitor " in text)
    exec(compile(example, str(PAGE), "exec"), training())
    assert re.fullmatch(r"[\d.e-]+ [\d.e-]+ [\d.e-]+ \([\d.e-]+, [\d.e-]+\)\n", capsys.readouterr().out)


@pytest.mark.parametrize("module", MODULES)
def test_every_tool_has_a_section_or_a_page(module: str) -> None:
    section = re.search(rf"^## .*`{module}`$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert section or (PAGE.parent / "compat" / f"{module}.md").exists()


def section(tool: str) -> str:
    text = PAGE.read_text(encoding="utf-8")
    (found,) = re.findall(rf"^## {re.escape(tool)}$(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    return str(found)


def training() -> dict[str, Any]:
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))

    def train_step(x: torch.Tensor, y: torch.Tensor) -> None:
        nn.functional.mse_loss(model(x), y).backward()

    x, y = torch.zeros(2, 4), torch.zeros(2, 1)
    return {"model": model, "train_step": train_step, "x": x, "y": y, "loader": [(x, y)] * 10}


@pytest.mark.parametrize("tool", OTHERS)
def test_the_example_beside_another_tool_runs(
    tool: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JOULEMAP_SIM", "h200")
    (example,) = EXAMPLE.findall(section(tool))
    exec(compile(example, str(PAGE), "exec"), training())
    said = capsys.readouterr().out
    if tool == "CodeCarbon":
        joules, kwh, grams = map(float, re.findall(r"[\d.e-]+(?= J,| kWh| g)", said.splitlines()[0]))
        assert kwh == pytest.approx(joules / 3.6e6, rel=0.02)
        assert grams == pytest.approx(56 * kwh, rel=0.02)
    if tool == "torch.profiler":
        assert said.count("idle") >= 2  # two windows
        (command,) = re.findall(r"^    joulemap (export .*)$", section(tool), re.MULTILINE)
        subprocess.run([COMMAND, *command.split()], check=True)
        assert "forward and backward" in (tmp_path / "trace.json").read_text()


def calls(tool: str) -> Iterator[str]:
    """What the second column of a tool's table says, call by call."""
    for row in re.findall(r"^\| (.*)\|$", section(tool), re.MULTILINE):
        yield from re.findall(r"`([^`]+)`", row.split("|")[1])


@pytest.mark.parametrize("tool", OTHERS)
def test_every_call_of_ours_in_a_table_is_one(tool: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOULEMAP_SIM", "h200")
    monkeypatch.setenv("JOULEMAP_CAPS_DIR", str(tmp_path / "leases"))
    quick = functools.partial(joulemap.caps.search, settle_s=0.01, window_s=0.03, probes=2, proof=False)
    monkeypatch.setattr(joulemap.caps, "search", quick)
    told = list(calls(tool))
    assert len(told) >= 5
    given = {**training(), "joulemap": joulemap, "torch": torch, "function": print}
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    if tool != "CodeCarbon":  # its table starts one
        given["run"] = joulemap.Session().start()
        given["train_step"](given["x"], given["y"])
        given["report"] = given["run"].report("board")
    try:
        for call in told:
            verb = re.fullmatch(r"joulemap (\w+) .*|perfetto", call)
            option = re.fullmatch(r"(\w+)=\w+", call)
            if verb:
                done = subprocess.run(
                    [COMMAND, verb[1] or "export", "--help"], capture_output=True, text=True, check=True
                )
                assert not verb[1] or all(word in done.stdout for word in re.findall(r"--\w+", call))
            elif option:
                assert option[1] in inspect.signature(joulemap.Session).parameters
            elif call.startswith("@"):
                exec(f"{call}\ndef function(): pass\nfunction()", given)
            elif call.endswith(":"):
                exec(f"{call} pass", given)
            elif call != "with":
                exec(call.replace("schedule(...)", "schedule(wait=1, warmup=1, active=1)"), given)
    finally:
        given["run"].stop()
