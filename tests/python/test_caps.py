"""Power caps from Python: leases that are put back, and a search that leaves a program as it was."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import joulemap
import numpy as np
import pytest
import torch
from joulemap import caps
from joulemap._cli import native_folder
from joulemap.caps.searching import _high_w
from joulemap.caps.training_state import preserved_training
from joulemap.caps.windows import WINDOWS
from joulemap.caps.work import ModelSteps
from joulemap.plots import plot
from paced_work import Law
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

QUICK: dict[str, Any] = {"settle_s": 0.01, "window_s": 0.06}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOULEMAP_SIM", "h200")
    monkeypatch.setenv("JOULEMAP_CAPS_DIR", str(tmp_path / "caps"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))


@pytest.fixture
def run() -> Iterator[joulemap.Session]:
    with joulemap.Session(cpu=False) as session:
        yield session


def cap_w() -> float | None:
    """Return the cap as the next one finds it."""
    with caps.lease() as lease:
        return lease.found.cap_w


# ---- leases ----


def test_a_gpu_tells_its_cap_and_its_range() -> None:
    (board,) = caps.show()
    assert (board.index, board.name, board.simulated, board.lease) == (0, "NVIDIA H200", True, None)
    assert (board.cap_w, board.enforced_w, board.default_w, board.low_w, board.high_w) == (700, 700, 700, 200, 700)
    assert board.may_set
    assert not board.may_not_set


def test_what_a_lease_sets_is_put_back_at_its_end_also_after_an_error(run: joulemap.Session) -> None:
    with caps.lease() as lease:
        assert lease.set(450) == 450
        assert lease.cap_w == 450
    assert cap_w() == 700
    with pytest.raises(ZeroDivisionError), caps.lease("cuda:0") as lease:
        lease.set(300)
        raise ZeroDivisionError
    assert cap_w() == 700
    lease.end()  # once more harms nothing


def test_a_cap_out_of_range_and_a_lease_that_has_ended_are_errors(run: joulemap.Session) -> None:
    with caps.lease() as lease:
        for wrong in (100, 800):
            with pytest.raises(joulemap.Error, match="200"):
                lease.set(wrong)
        for none in (0.0, float("nan")):
            with pytest.raises(ValueError, match="cap_w is a number above 0"):
                lease.set(none)
    with pytest.raises(RuntimeError, match="this lease has ended"):
        lease.set(400)


def test_a_second_one_is_refused_with_the_name_of_the_first(run: joulemap.Session) -> None:
    with caps.lease(who="night shift"):
        with pytest.raises(joulemap.Error, match="night shift") as refused:
            caps.lease()
        assert refused.value.status == "BUSY"
    assert caps.restore() == []


KILLED = """
import joulemap.caps, sys, time
lease = joulemap.caps.lease()
lease.set(300)
print("set", flush=True)
time.sleep(60)
"""


def test_what_a_killed_program_had_set_is_put_back() -> None:
    with subprocess.Popen([sys.executable, "-c", KILLED], stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "set\n"
        (board,) = caps.show()
        assert board.lease is not None
        assert (board.lease.process_id, board.lease.cap_w, board.lease.found_w) == (program.pid, 300, 700)
        program.kill()
    until_s = time.monotonic() + 20
    while caps.show()[0].lease is not None and time.monotonic() < until_s:
        time.sleep(0.02)
    assert (caps.show()[0].lease, caps.show()[0].cap_w) == (None, 700)


# ---- the search ----


def test_a_recording_keeps_the_search_for_the_figure_and_the_page(tmp_path: Path) -> None:
    path, page = tmp_path / "run.joulemap", tmp_path / "page.html"
    with joulemap.Session(path, cpu=False) as session:
        found = caps.search(Law(session, slow=0.5), sweep=2, sweep_rounds=1, proof=False, **QUICK)
    with joulemap.Recording(path) as recording:
        assert recording.meta("cap_search") == found.to_json()
        assert plot(recording, "power_cap", dpi=40).axes
        recording.report("phase").to_html(page)
    assert '"chosen_w":' in page.read_text()


def test_a_lease_of_the_program_goes_on_and_its_cap_is_what_others_are_compared_with(run: joulemap.Session) -> None:
    with caps.lease() as lease:
        lease.set(600)
        law = Law(run, slow=0.5)
        found = caps.search(law, lease=lease, sweep=2, sweep_rounds=1, proof=False, **QUICK)
        assert found.reference_w == 600
        assert lease.cap_w == 600
        assert law.calls > 2 * WINDOWS
        with pytest.raises(joulemap.Error):
            caps.search(law, sweep=2, **QUICK)  # the program itself has it
    assert cap_w() == 700


def test_what_is_measured_while_somebody_ends_the_lease_is_no_result(run: joulemap.Session) -> None:
    law = Law(run, slow=0.5)

    def work() -> None:
        law()
        (board,) = caps.show() if law.calls % 20 == 0 else (None,)
        if board is not None and board.lease is not None and board.lease.cap_w == 200:
            subprocess.run([native_folder() / "joulemap", "cap", "reset"], check=True, capture_output=True)

    # the last trial is the lowest cap: nothing is set after it
    with pytest.raises(joulemap.Error, match="reset"):
        caps.search(work, sweep=2, sweep_rounds=1, proof=False, settle_s=0.01, window_s=0.4)
    assert cap_w() == 700


def test_no_cap_above_what_was_found_is_tried_but_the_default() -> None:
    board = caps.show()[0]

    def highest(**changed: float | None) -> float:
        lease = joulemap.types.Lease.__new__(joulemap.types.Lease)
        lease.found, lease.cap_w = dataclasses.replace(board, **changed), None  # type: ignore[arg-type]
        return _high_w(lease)

    assert highest(cap_w=500, default_w=600, high_w=700) == 600
    assert highest(cap_w=650, default_w=600, high_w=700) == 650
    assert highest(cap_w=650, default_w=None, high_w=700) == 700


def test_after_an_error_in_the_midst_the_cap_is_back(run: joulemap.Session) -> None:
    def fail() -> None:
        if caps.show()[0].lease is not None and next(calls) == 4:
            raise OSError("in the midst")

    calls = iter(range(100))
    with pytest.raises(OSError, match="in the midst"):
        caps.search(fail, **QUICK)
    assert cap_w() == 700


# ---- what it leaves behind ----


def made() -> tuple[nn.Module, Any, Any, Any]:
    """Return a model in the midst of a training, with its loader, loss and optimizer."""
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Dropout(0.3), nn.ReLU(), nn.Linear(8, 3))
    model[0].bias.requires_grad_(False)
    data = TensorDataset(torch.randn(40, 6), torch.randint(0, 3, (40,)))
    loader = DataLoader(data, batch_size=8, shuffle=True, generator=torch.Generator().manual_seed(3))
    optimizer = torch.optim.AdamW([weight for weight in model.parameters() if weight.requires_grad], lr=0.1)
    loss_fn = nn.CrossEntropyLoss()
    loss_fn(model(torch.randn(8, 6)), torch.randint(0, 3, (8,))).backward()
    optimizer.step()
    return model, loader, loss_fn, optimizer


def state(model: nn.Module, loader: Any, optimizer: Any) -> dict[str, Any]:
    """Return all that a training goes on from, as bytes where it is numbers."""

    def bits(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return value.detach().contiguous().view(-1).view(torch.uint8).numpy().tobytes()
        if isinstance(value, Mapping):
            return {str(key): bits(item) for key, item in value.items()}
        return [bits(item) for item in value] if isinstance(value, list | tuple) else value

    return {
        "model": bits(model.state_dict()),
        "gradients": [None if weight.grad is None else bits(weight.grad) for weight in model.parameters()],
        "wants": [weight.requires_grad for weight in model.parameters()],
        "modes": [module.training for module in model.modules()],
        "optimizer": bits(optimizer.state_dict()),
        "python": random.getstate(),
        "numpy": [np.asarray(part).tobytes() for part in np.random.get_state()],
        "torch": bits(torch.get_rng_state()),
        "loader": bits(loader.generator.get_state()),
    }


def disturb(model: nn.Module, loader: Any, loss_fn: Any, optimizer: Any) -> None:
    """Train a step, and change whatever else a step may."""
    model.eval()
    model.train()
    random.random()
    np.random.rand()
    for x, y in loader:
        optimizer.zero_grad(set_to_none=True)
        loss_fn(model(x), y).backward()
        optimizer.step()
    optimizer.param_groups[0]["lr"] = 7.0
    model[0].bias.requires_grad_(True)  # type: ignore[index]


@pytest.mark.parametrize("ending", ["as it should", "with an error", "with Ctrl-C"])
def test_a_training_goes_on_as_if_there_had_been_no_test(ending: str) -> None:
    model, loader, loss_fn, optimizer = made()
    model.eval()
    before = state(model, loader, optimizer)

    def act() -> None:
        with preserved_training(model, loader, loss_fn, optimizer):
            disturb(model, loader, loss_fn, optimizer)
            assert state(model, loader, optimizer) != before
            if ending == "with an error":
                raise OSError
            if ending == "with Ctrl-C":
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(10)

    if ending == "as it should":
        act()
    else:
        with pytest.raises(OSError if ending == "with an error" else KeyboardInterrupt):
            act()
    after = state(model, loader, optimizer)
    for key in before:
        assert after[key] == before[key], key


def test_an_optimizer_that_had_no_state_has_none_again() -> None:
    model, loader, loss_fn, _ = made()
    for optimizer in (torch.optim.Adam(model.parameters()), torch.optim.LBFGS(model.parameters(), max_iter=2)):
        state_before = dict(optimizer.state)
        x, y = next(iter(loader))

        def closure(optimizer: Any = optimizer, x: Any = x, y: Any = y) -> Any:
            optimizer.zero_grad()
            loss = loss_fn(model(x), y)
            loss.backward()
            return loss

        with preserved_training(model, loader, loss_fn, optimizer):
            optimizer.step(closure)  # type: ignore[no-untyped-call]
            assert len(optimizer.state) > 0
        assert dict(optimizer.state) == state_before


def test_ctrl_c_while_it_is_put_back_waits_until_all_is(monkeypatch: pytest.MonkeyPatch) -> None:
    model, loader, loss_fn, optimizer = made()
    before = state(model, loader, optimizer)
    restore = caps.training_state.Contents.restore

    def interrupted(contents: Any) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        restore(contents)

    monkeypatch.setattr(caps.training_state.Contents, "restore", interrupted)
    with pytest.raises(KeyboardInterrupt), preserved_training(model, loader, loss_fn, optimizer):
        disturb(model, loader, loss_fn, optimizer)
    after = state(model, loader, optimizer)
    assert after == before
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_search_on_a_training_leaves_it_as_it_was_and_sees_the_same_batches(run: joulemap.Session) -> None:
    model, loader, loss_fn, optimizer = made()
    before = state(model, loader, optimizer)
    seen: list[bytes] = []

    def loss(output: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        seen.append(labels.numpy().tobytes())
        result: torch.Tensor = loss_fn(output, labels)
        return result

    found = caps.search(
        model,
        loader,
        train=True,
        loss_fn=loss,
        optimizer=optimizer,
        sweep=2,
        sweep_rounds=1,
        proof=False,
        settle_s=0.01,
        window_s=0.3,  # of some steps, also on a busy machine
    )
    after = state(model, loader, optimizer)
    for key in before:
        assert after[key] == before[key], key
    assert len(found.trials) >= 2
    window = seen[-found.steps :]
    assert seen[-2 * found.steps : -found.steps] == window
    assert len(set(window)) > 1


def test_an_epoch_in_the_midst_of_which_is_searched_goes_on_where_it_was() -> None:
    data = TensorDataset(torch.arange(24.0).reshape(12, 2))
    workers: dict[str, Any] = {"num_workers": 1, "persistent_workers": True}
    for options in ({}, workers):
        loader = DataLoader(data, batch_size=2, **options)
        epoch = iter(loader)
        begun = [next(epoch)[0] for _ in range(3)]  # more than a test takes
        steps = ModelSteps(nn.Linear(2, 1), loader, False, None, None)
        with steps.preserved():
            for _ in range(2):
                steps.begin()
                steps.step()
        assert torch.equal(torch.cat(begun + [batch for (batch,) in epoch]), data.tensors[0])


def test_the_generator_of_a_loader_inside_of_another_is_put_back() -> None:
    class Outer:
        def __init__(self) -> None:
            generator = torch.Generator().manual_seed(5)
            self.chance = np.random.RandomState(3)
            self.inner = DataLoader(TensorDataset(X), batch_size=1, shuffle=True, generator=generator)

        def __iter__(self) -> Iterator[Any]:
            self.chance.rand()
            return iter(self.inner)

    loader = Outer()

    def place() -> Any:
        told: Any = loader.chance.get_state()
        return told[2]

    before = loader.inner.generator.get_state(), place()
    with preserved_training(None, loader, None, None):
        list(loader)
        assert place() != before[1]
    assert torch.equal(loader.inner.generator.get_state(), before[0])
    assert place() == before[1]


class Encoding(Mapping[str, Any]):
    """A mapping that is no dict, as a tokenizer's BatchEncoding."""

    def __init__(self, **items: Any) -> None:
        self._items = items

    def __getitem__(self, key: str) -> Any:
        return self._items[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)


class Named(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 2)

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None, labels: Any = None) -> Any:
        output = self.layer(x if mask is None else x * mask)
        return {"logits": output, "loss": None if labels is None else output.sum()}


class Both(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x @ y.T


X, Y = torch.ones(2, 4), torch.zeros(2, dtype=torch.int64)


@pytest.mark.parametrize(
    ("model", "batch", "options"),
    [
        (nn.Linear(4, 2), X, {}),
        (nn.Linear(4, 2), (X, Y), {}),
        (nn.Linear(4, 2), [X, Y], {"train": True, "loss_fn": nn.functional.cross_entropy}),
        (Both(), (X, X), {}),
        (Named(), {"x": X, "mask": X, "labels": Y}, {}),
        (Named(), {"x": X, "labels": Y}, {"train": True}),
        (Named(), Encoding(x=X, labels=Y), {"train": True, "loss_fn": nn.functional.cross_entropy}),
    ],
)
def test_batches_are_tensors_tuples_lists_dicts_and_mappings(
    model: nn.Module, batch: Any, options: dict[str, Any]
) -> None:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1) if options.get("train") else None
    steps = ModelSteps(model, [batch] * 2, bool(options.get("train")), options.get("loss_fn"), optimizer)
    with steps.preserved():
        steps.begin()
        for _ in range(3):  # beyond the last: from the first again
            steps.step()


def test_what_is_wrong_is_said_before_anything_is_set() -> None:
    model = nn.Linear(4, 2)
    wrong: list[tuple[Callable[[], Any], type[Exception], str]] = [
        (lambda: caps.search(model), TypeError, "a model needs its loader"),
        (lambda: caps.search(3), TypeError, "a function that does a step"),  # type: ignore[arg-type]
        (lambda: caps.search(print, train=True), TypeError, "go with a model"),
        (lambda: caps.search(model, iter([X])), ValueError, "loader is an iterator"),
        (lambda: caps.search(model, [X], train=True), ValueError, "needs the optimizer"),
        (lambda: caps.search(model, [X], sweep=1), ValueError, "sweep is at least 2"),
        (lambda: caps.search(model, [X], window_s=0), ValueError, "window_s is a number above 0"),
        (lambda: caps.search(model, [X], gpu=7), joulemap.Error, "7"),
        (lambda: caps.search(model, [], sweep=2), ValueError, "loader has no batch"),
        (lambda: caps.search(model, [X], objective="speed"), joulemap.Error, "speed"),  # type: ignore[arg-type]
    ]
    for call, kind, text in wrong:
        with pytest.raises(kind, match=text):
            call()
    assert caps.show()[0].lease is None


# ---- the page ----

PAGE = Path(__file__).parents[2] / "docs" / "caps.md"


def test_the_example_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    search = functools.partial(caps.search, probes=2, proof=False, **QUICK)
    monkeypatch.setattr(caps, "search", search)
    model, loader, loss_fn, optimizer = made()
    given = {"model": model, "loader": loader, "loss_fn": loss_fn, "optimizer": optimizer, "train": list}
    (example,) = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    exec(compile(example, str(PAGE), "exec"), given)
    assert json.loads((tmp_path / "cap.json").read_text())["simulated"] is True


def test_the_page_names_all_that_is_public_and_every_option() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert [name for name in caps.__all__ if f"`{name}" not in page] == []
    named = {"model", "gpu", "progress", "seed"}  # told by their names, or by search's own words
    assert [name for name in inspect.signature(caps.search).parameters if name not in named and name not in page] == []
