"""Budgets: hooks stand aside in untraced steps, what a model computes stays what it is, and steps are told however."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import joulemap
import joulemap.torch
import pytest
import torch
from compiled_models import Net
from joulemap._cli import native_folder
from joulemap._module_calls import call_tracing, calls
from joulemap._tracing import tracing
from torch import nn
from torch.nn.modules import module as all_modules
from torch.utils.data import DataLoader, TensorDataset

OPENING_S = 1.0  # traced at first: src/record/run/budget.h


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Iterator[joulemap.Session]:
    for name, value in (("compiled", False), ("requested", False), ("_changes", 0)):
        monkeypatch.setattr(call_tracing, name, value)  # as at the start of a program, whatever an earlier test did
    with joulemap.Session(sim="h200", cpu=False, budget=0.01) as session:
        yield session


def model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Sequential(nn.Linear(8, 8), nn.Tanh()), nn.Linear(8, 1))


def has_hooks() -> bool:
    """Whether something of ours is in the way of a module's call."""
    hooks = all_modules._global_forward_hooks or all_modules._global_forward_pre_hooks
    return bool(hooks) or vars(nn.Module)["__call__"] is calls


def until_untraced(step: Callable[[], object], more: int = 10) -> list[bool]:
    """Whether each step was traced: of some of a millisecond, until some were not."""
    told: list[bool] = []
    until_s = time.monotonic() + 20 * OPENING_S
    while told.count(False) < more:
        assert time.monotonic() < until_s
        step()
        told.append(tracing.on)
        time.sleep(0.002)
    return told


def test_modules_have_hooks_in_traced_steps_alone(run: joulemap.Session) -> None:
    net = model()
    run.watch(net)
    seen: list[tuple[bool, bool]] = []

    def step() -> None:
        with run.step(samples=4):
            seen.append((tracing.on, has_hooks()))
            net(torch.ones(4, 8)).sum().backward()

    told = until_untraced(step)
    assert all(on == hooked for on, hooked in seen)
    assert told[0]
    cost = run.tracing_cost
    assert cost is not None
    assert cost.steps == len(told)
    assert 0 < cost.traced_steps == told.count(True)
    run.stop()
    assert not has_hooks()
    assert tracing.on
    with joulemap.Session(sim="h200", cpu=False) as plain:
        plain.watch(net)
        assert has_hooks()
        assert plain.tracing_cost is None


def test_layers_of_traced_steps_are_recorded_and_all_steps_are(tmp_path: Path) -> None:
    net = model()
    with joulemap.Session(tmp_path / "r", sim="h200", cpu=False, budget=0.01) as run:
        run.watch(net)

        def step() -> None:
            with run.step(samples=4), run.window("inside"):
                net(torch.ones(4, 8))

        told = until_untraced(step)
    kept = f"Traced within a budget of 1 %: {told.count(True)} of {len(told)} steps"
    assert any(note.startswith(kept) for note in run.report().notes)
    spans = joulemap.Recording(tmp_path / "r").timeline().spans
    kinds = [span.kind for span in spans]
    assert kinds.count("step") == kinds.count("window") == len(told)
    assert sum(span.name == "0" and span.kind == "forward" for span in spans) == told.count(True)


def test_untraced_steps_draw_on_the_simulated_board_too(tmp_path: Path) -> None:
    class Rest(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            time.sleep(0.01)
            return x

    net = nn.Sequential(Rest(), Rest())
    with joulemap.Session(tmp_path / "r", sim="h200", cpu=False) as run:
        run.watch(net)
        for level, steps in (("on", 50), ("steps", 150)):  # by hand: a budget may trace all of them
            run._started().trace(joulemap._core.TRACING[level])
            for _ in range(steps):
                with run.step():
                    net(torch.ones(4, 8))
    closure = run.report().totals.closure
    assert closure is not None
    assert abs(closure) < 0.2  # were they idle, the fit would be half as much more than the total


def test_what_a_model_computes_stays_what_it_is() -> None:
    def train(run: joulemap.Session | None) -> tuple[list[float], dict[str, torch.Tensor]]:
        net = model()
        optimizer = torch.optim.SGD(net.parameters(), 0.01, momentum=0.9)
        losses: list[float] = []
        x = torch.linspace(-1, 1, 32).reshape(4, 8)

        def update() -> None:
            loss = (net(x) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())

        if run is None:
            for _ in range(1000):
                update()
            return losses, net.state_dict()
        run.watch(net)
        keys = set(net.state_dict())

        def step() -> None:
            with run.step():
                update()

        until_untraced(step)
        assert set(net.state_dict()) == keys
        while len(losses) < 1000:
            step()
        return losses[:1000], net.state_dict() if len(losses) == 1000 else {}

    plain, weights = train(None)
    with joulemap.Session(sim="h200", cpu=False, budget=0.01) as run:
        measured, measured_weights = train(run)
    assert measured == plain
    for name, value in measured_weights.items():
        assert torch.equal(value, weights[name])


def test_a_backward_pass_may_be_traced_where_its_forward_was_not_and_the_other_way(run: joulemap.Session) -> None:
    net = model()
    run.watch(net)
    x = torch.ones(4, 8)
    expected = torch.autograd.grad(net(x).sum(), list(net.parameters()))
    losses: list[torch.Tensor] = []

    def step() -> None:
        """Forward of this step, backward of the one before: between them tracing may change."""
        with run.step():
            losses.append(net(x).sum())
            if len(losses) > 1:
                gradients = torch.autograd.grad(losses.pop(0), list(net.parameters()))
                assert all(torch.equal(a, b) for a, b in zip(gradients, expected, strict=True))

    told = until_untraced(step)
    for _ in range(3):  # and back: a change that nothing but a turn brings
        run._started().trace(joulemap._core.TRACING["on"])
        step()
        run._started().trace(joulemap._core.TRACING["steps"])
        step()
    assert True in told
    assert False in told
    from joulemap._threads import local

    assert (local.state.frame, local.state.backwards, local.state.regions) == (None, [], [])


def test_a_step_that_begins_inside_of_a_module_leaves_nothing_open(run: joulemap.Session) -> None:
    class Loop(nn.Module):
        """Trains inside of its own forward, as a solver in a layer does."""

        def __init__(self) -> None:
            super().__init__()
            self.net = model()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            run.step()
            return self.net(x)  # type: ignore[no-any-return]

    loop = Loop()
    run.watch(loop)
    told = until_untraced(lambda: loop(torch.ones(4, 8)))
    assert told.count(True) > 10
    from joulemap._threads import local

    run._started().trace(joulemap._core.TRACING["on"])
    loop(torch.ones(4, 8))
    assert local.state.frame is None


def test_other_threads_go_on_when_hooks_come_and_go(run: joulemap.Session) -> None:
    net = model()
    run.watch(net)
    failures: list[BaseException] = []
    over = threading.Event()

    def work() -> None:
        try:
            while not over.is_set():
                net(torch.ones(4, 8)).sum().backward()
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        for i in range(300):
            run._started().trace(joulemap._core.TRACING["on" if i % 2 else "steps"])
            time.sleep(0.001)
    finally:
        over.set()
        thread.join()
    assert not failures


def test_an_exception_in_an_untraced_step_leaves_hooks_right(run: joulemap.Session) -> None:
    net = model()
    run.watch(net)

    def step() -> None:
        with pytest.raises(RuntimeError), run.step():
            net(torch.ones(4, 7))

    until_untraced(step)
    assert not has_hooks()
    from joulemap._threads import local

    assert local.state.frame is None


def graphs() -> int:
    """How many graphs torch.compile has made."""
    from torch._dynamo.utils import counters

    return int(counters["stats"]["unique_graphs"])


@pytest.mark.parametrize("how", ["whole", "layer by layer", "a function", "late"])
@pytest.mark.usefixtures("fresh_dynamo")
def test_compiled_models_are_compiled_once(run: joulemap.Session, how: str) -> None:
    net = Net()
    call: Callable[[torch.Tensor], Any] = net
    if how == "layer by layer":
        for block in net.blocks:
            block.compile(backend="aot_eager")
    else:
        call = torch.compile(net.forward if how == "a function" else net, backend="aot_eager")
    run.watch(net)
    x = torch.ones(4, 8)

    def step() -> None:
        with run.step():
            call(x).sum().backward()

    def eager_step() -> None:
        with run.step():
            net(x)

    if how == "late":  # in an untraced step: without hooks, until then
        until_untraced(eager_step)
        assert not has_hooks()
    step()
    made = graphs()
    assert made > 0
    told = until_untraced(step)
    for tracing_now in ("on", "steps", "on", "steps"):
        run._started().trace(joulemap._core.TRACING[tracing_now])
        step()
    assert graphs() == made
    assert False in told


@pytest.mark.usefixtures("fresh_dynamo")
@pytest.mark.usefixtures("inductor")
def test_layers_in_compiled_code_are_recorded_in_traced_steps_alone(tmp_path: Path) -> None:
    net = model()
    compiled = torch.compile(net)
    with joulemap.Session(tmp_path / "r", sim="h200", cpu=False, budget=0.01) as run:
        run.watch(net)

        def step() -> None:
            with run.step():
                compiled(torch.ones(4, 8)).sum().backward()

        step()  # compiles, for half a minute
        told = [True, *until_untraced(step)]
    spans = joulemap.Recording(tmp_path / "r").timeline().spans
    assert sum(span.name == "Sequential" and span.kind == "forward" for span in spans) == told.count(True)


def test_steps_that_are_found_are_steps_of_a_budget(run: joulemap.Session) -> None:
    net = model()
    run.watch(net)
    told: list[bool] = []
    loader = DataLoader(TensorDataset(torch.ones(100_000, 8)), batch_size=4)
    for (x,) in loader:
        told.append(tracing.on)
        net(x)
        time.sleep(0.002)
        if told.count(False) == 10:
            break
    assert told[0]
    assert not told[-1]


def test_a_phase_without_steps_is_traced_as_if_it_were_one(run: joulemap.Session) -> None:
    net = model()
    run.watch(net)

    def step() -> None:
        with run.step(samples=4):
            net(torch.ones(4, 8))

    with run.phase("train"):
        until_untraced(step)
    with run.phase("train"):  # it has steps: they decide
        assert not tracing.on
    with run.phase("validate"):
        assert tracing.on
        assert has_hooks()
        net(torch.ones(4, 8))
    until_untraced(step)


def test_without_steps_all_is_traced(tmp_path: Path) -> None:
    net = model()
    calls = 0
    with joulemap.Session(tmp_path / "r", sim="h200", cpu=False, budget=0.01) as run:
        run.watch(net)
        until_s = time.monotonic() + 1.5 * OPENING_S
        with run.phase("train"):
            while time.monotonic() < until_s:
                net(torch.ones(4, 8))
                calls += 1
                time.sleep(0.005)
        report = run.report()
    assert next(row for row in report.rows if row.path == "0").calls == calls
    assert any(note.startswith("A budget for tracing needs steps") for note in report.notes)


def test_a_forked_child_traces_everything(run: joulemap.Session) -> None:
    net = model()
    run.watch(net)

    def step() -> None:
        with run.step():
            net(torch.ones(4, 8))

    until_untraced(step)
    with run.step():
        child = os.fork()
        if child == 0:
            fine = tracing.on and has_hooks()
            net(torch.ones(4, 8))
            os._exit(0 if fine else 1)
        assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize(
    ("wrong", "error", "words"),
    [
        ({"budget": 0}, ValueError, "budget is a number above 0, up to 1, not 0"),
        ({"budget": -0.1}, ValueError, "budget is a number above 0"),
        ({"budget": 1}, ValueError, "budget is a share below 1, which means 100 %: 1 % is 0.01"),
        ({"budget": 1.5}, ValueError, "1.5 % is 0.015"),
        ({"budget": "1%"}, TypeError, "budget is a number, not '1%'"),
        ({"budget": 0.01, "schedule": joulemap.schedule(wait=1, warmup=1, active=1)}, ValueError, "exclude each other"),
    ],
)
def test_a_wrong_budget_is_named(wrong: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        joulemap.Session(**wrong)


def test_step_at_the_end_of_each_step_as_with_a_schedule(run: joulemap.Session) -> None:
    told = until_untraced(lambda: run.step(samples=2))
    cost = run.tracing_cost
    assert cost is not None
    assert cost.steps == len(told)


def test_under_record_the_recorders_budget_is_kept(tmp_path: Path) -> None:
    program = """
import time
import joulemap
import torch
from joulemap._tracing import tracing

net = torch.nn.Linear(8, 8)
with joulemap.Session() as run:
    run.watch(net)
    told = []
    while told.count(False) < 10 and len(told) < 5000:
        with run.step(samples=4):
            net(torch.ones(4, 8))
            time.sleep(0.002)
        told.append(tracing.on)
    assert run.tracing_cost.steps == len(told)
    print(told.count(True), len(told))
"""
    path = tmp_path / "run.joulemap"
    command: list[str | Path] = [native_folder() / "joulemap", "record", "--budget", "1%", "--sim", "h200", "-o", path]
    done = subprocess.run([*command, "--", sys.executable, "-c", program], capture_output=True, text=True, check=True)
    traced, steps = map(int, done.stdout.split())
    assert 10 < traced < steps
    with joulemap.Recording(path) as recording:
        spans = recording.timeline().spans
    assert sum(span.kind == "step" for span in spans) == steps
    assert sum(span.kind == "forward" for span in spans) == traced


def test_steps_that_a_callback_tells_are_steps_of_a_budget(run: joulemap.Session) -> None:
    from joulemap._training import TRAIN, VALIDATE, Training

    net = model()
    training = Training(None, run, False, None, False)
    training.enter(TRAIN, [(net, None)])

    def step() -> None:
        training.begin_step(4)
        net(torch.ones(4, 8))
        training.end_step()

    told = until_untraced(step)
    training.enter(VALIDATE)
    net(torch.ones(4, 8))
    assert tracing.on  # it is new, and has no steps
    training.leave(VALIDATE)
    told += until_untraced(step)
    training.leave(TRAIN)
    cost = run.tracing_cost
    assert cost is not None
    assert cost.steps == len(told)
