"""Joules of a real model's layers on the simulated board, and PyTorch's own helpers at work meanwhile."""

from __future__ import annotations

import io
import os
import warnings
from typing import Any

import joulemap
import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset
from values import known


class Numbers(Dataset[Tensor]):
    def __len__(self) -> int:
        return 32

    def __getitem__(self, index: int) -> Tensor:
        return torch.full((64,), float(index))


class Wrapped(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(x).relu()  # type: ignore[no-any-return]


def make_model() -> nn.Module:
    return nn.Sequential(nn.Linear(64, 512), nn.ReLU(inplace=True), nn.Linear(512, 8))


def test_layers_of_a_training_run_add_up_to_the_boards_total(session: joulemap.Session) -> None:
    model = make_model()
    optimizer = torch.optim.AdamW(model.parameters())
    session.watch(model)
    x = torch.randn(256, 64)
    with session.phase("train"):
        for _ in range(60):
            with session.step(samples=len(x)):
                model(x).square().mean().backward()
                optimizer.step()
                optimizer.zero_grad()
    report = session.report("layer")
    total = report.totals.total_energy_j
    assert total is not None
    assert sum(known(row.energy_self_j) for row in report.rows) == pytest.approx(total, rel=5e-3)
    rows = {row.path: row for row in report.rows}
    assert [rows[layer].calls for layer in ("Sequential", "0", "1", "2")] == [60] * 4
    assert (rows["AdamW"].kind, rows["AdamW"].calls) == ("optimizer", 60)
    inside = sum(known(rows[layer].energy_j) for layer in "012")
    assert inside < known(rows["Sequential"].energy_j) < total


@pytest.mark.parametrize("context", ["fork", pytest.param("spawn", marks=pytest.mark.proof)])
def test_data_loader_workers_do_not_disturb_the_run(session: joulemap.Session, context: str) -> None:
    model = make_model()
    session.watch(model)
    loader = DataLoader(Numbers(), batch_size=8, num_workers=2, multiprocessing_context=context)
    with session.phase("train"):
        for batch in loader:
            model(batch).sum().backward()
    kinds = [row.kind for row in session.report("span").rows if row.path == "0"]
    assert sorted(kinds) == ["backward"] * 4 + ["forward"] * 4


def test_a_watched_forward_in_a_forked_child_is_recorded_there(session: joulemap.Session) -> None:
    torch.set_num_threads(1)
    model = make_model()
    session.watch(model)
    child = os.fork()
    if child == 0:
        try:
            with torch.no_grad():
                model(torch.randn(2, 64))
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    rows = {row.path: row for row in session.report("layer", process_id=child).rows}
    assert rows["0"].calls == 1


def test_stop_takes_all_hooks_away_and_leaves_weights_alone() -> None:
    model = make_model()
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    filters = list(warnings.filters)
    with joulemap.Session(sim="h200", cpu=False) as run:
        run.watch(model)
        out = model(torch.randn(2, 64))
    for module in (model, *model.modules()):
        assert not [name for name, hooks in vars(module).items() if "hooks" in name and hooks]
    assert not [name for name, hooks in vars(torch.nn.modules.module).items() if name.endswith("_hooks") and hooks]
    assert warnings.filters == filters
    for name, weight in model.state_dict().items():
        assert torch.equal(weight, before[name])
    out.sum().backward()  # labels that outlive the watch do nothing
    file = io.BytesIO()
    torch.save(model, file)
    file.seek(0)
    assert torch.load(file, weights_only=False)(torch.randn(2, 64)).shape == (2, 8)


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("how", ["torch.compile", "module.compile"])
def test_a_report_names_what_is_compiled(when: str, how: str) -> None:
    model = Wrapped()
    called: Any = model
    with joulemap.Session(sim="h200", cpu=False) as run:
        if when == "after":
            run.watch(model)
        if how == "torch.compile":
            called = torch.compile(model, backend="eager")
        else:
            model.compile(backend="eager")
        if when == "before":
            run.watch(called)
        called(torch.randn(2, 4))
    notes = [note for note in run.report().notes if "torch.compile" in note]
    assert notes == ["Wrapped is compiled by torch.compile, which calls no hooks: the modules inside have no rows."]


def test_optimizer_hooks_go_with_the_watch() -> None:
    model = nn.Linear(4, 4)
    with joulemap.Session(sim="h200", cpu=False) as run:
        run.watch(model)
    from torch.optim.optimizer import _global_optimizer_post_hooks, _global_optimizer_pre_hooks

    assert not _global_optimizer_pre_hooks
    assert not _global_optimizer_post_hooks
