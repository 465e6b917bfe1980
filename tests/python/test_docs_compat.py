"""The examples of docs/compat.md, run on the simulated board."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import torch
from joulemap.compat import MODULES
from joulemap.isolation import layers as isolation
from torch import nn

PAGE = Path(__file__).parents[2] / "docs" / "compat.md"
EXAMPLES = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embeddings = nn.Embedding(10, 8)
        self.classifier = nn.Linear(8, 2)

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = self.classifier((self.embeddings(input_ids) * attention_mask[..., None]).mean(dim=1))
        return out


@pytest.mark.filterwarnings("ignore:the CPU's energy cannot be read")
@pytest.mark.parametrize("module", ["measurement", "layer_energy_profiler"])
def test_the_example_of_a_tool_runs(module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JOULEMAP_SIM", "h200")
    monkeypatch.setattr(isolation, "LEAST_WINDOW_S", 0.02)
    monkeypatch.setattr(isolation, "MOST_WINDOW_S", 0.02)
    ids = torch.zeros(16, 4, dtype=torch.int64)
    given: dict[str, Any] = {
        "train": lambda epoch: None,
        "model": Model(),
        "input_ids": ids,
        "attention_mask": torch.ones_like(ids),
    }
    (example,) = (text for text in EXAMPLES if f"from joulemap.compat.{module} " in text)
    exec(compile(example, str(PAGE), "exec"), given)
    written = {"measurement": "energy.csv", "layer_energy_profiler": "layer_energy.png"}[module]
    assert (tmp_path / written).stat().st_size > 0


@pytest.mark.parametrize("module", MODULES)
def test_every_tool_has_a_section_or_a_page(module: str) -> None:
    section = re.search(rf"^## .*`{module}`$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert section or (PAGE.parent / "compat" / f"{module}.md").exists()
