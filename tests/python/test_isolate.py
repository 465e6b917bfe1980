"""Layers alone: their energy against the simulated board's watts, and a model that is afterwards what it was."""

from __future__ import annotations

import csv
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import joulemap
import pytest
import torch
from joulemap._burst import GRAPH, Burst, Call, CaptureError, CpuPlayer
from joulemap._isolation import layers as isolation
from joulemap._isolation import measure as measuring
from joulemap._isolation.layer_inputs import record_inputs
from joulemap._isolation.measure import Part, PlayedWindow, Quantity
from joulemap._isolation.regression import Window, estimate, student_95
from joulemap._isolation.settings import SETTINGS, Duty
from joulemap.torch import isolate
from sanitizers import SANITIZED
from torch import Tensor, nn

WATTS = {"Linear": (520, 560), "ReLU": (250, 270)}  # sim/profiles/h200.json, live: forward, backward
# Of a call of 2 ms: what the host does around it, in its span and outside of its measured time. Sanitizers slow it.
HOST = 0.06 if SANITIZED else 0.015


class Slow(torch.autograd.Function):
    """Takes 2 ms in each direction, without work for the CPU."""

    @staticmethod
    def forward(_ctx: Any, x: Tensor) -> Tensor:
        time.sleep(2e-3)
        return x.clone()

    @staticmethod
    def backward(_ctx: Any, *gradients: Any) -> Any:
        time.sleep(2e-3)
        return gradients[0]


class Linear(nn.Linear):
    def forward(self, x: Tensor) -> Tensor:
        return Slow.apply(super().forward(x))  # type: ignore[no-any-return, no-untyped-call]


class ReLU(nn.Module):
    """In place."""

    def forward(self, x: Tensor) -> Tensor:
        time.sleep(2e-3)
        return x.relu_()


class Odd(nn.Module):
    """Has all that is hard: shared and idle layers, keywords only, buffers, dropout, a cache, an in-place layer."""

    def __init__(self) -> None:
        super().__init__()
        self.twice = nn.Linear(8, 8)
        self.named = Keywords()
        self.norm = nn.BatchNorm1d(8)
        self.drop = nn.Dropout(0.5)
        self.act = nn.ReLU(inplace=True)
        self.idle = nn.Linear(8, 8)
        self.frozen = nn.Linear(8, 8).eval()
        self.frozen.requires_grad_(False)

    def forward(self, x: Tensor) -> Tensor:
        x = self.named(left=self.twice(x), right=x)
        x = self.act(self.norm(self.twice(x)))
        out: Tensor = self.drop(self.frozen(x))
        return out


class Keywords(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cache: Tensor | None = None
        self.calls = 0
        self.seen: Tensor
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, *, left: Tensor, right: Tensor) -> Tensor:
        self.cache = left.detach() * 2
        self.calls += 1
        self.seen += 1
        return left + right


@pytest.fixture(autouse=True)
def simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOULEMAP_SIM", "h200")


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolation, "LEAST_WINDOW_S", 0.02)
    monkeypatch.setattr(isolation, "MOST_WINDOW_S", 0.02)


def state(model: nn.Module) -> dict[str, Any]:
    """Return all that must stay as it is, tensors by copies, with the identity of each."""
    found: dict[str, Any] = {"python": random.getstate(), "torch": torch.get_rng_state()}
    for path, module in model.named_modules():
        for key, value in vars(module).items():
            found[f"{path}/{key}"] = dict(value) if isinstance(value, dict) else value
            if isinstance(value, dict):
                found[f"{path}/{key}/order"] = list(value)
    for name, tensor in [*model.named_parameters(), *model.named_buffers()]:
        gradient = tensor.grad
        found[f"{name} values"] = tensor.detach().clone()
        found[f"{name} gradient"] = None if gradient is None else (id(gradient), gradient.clone())
    return found


def assert_same(now: Any, before: Any, where: str) -> None:
    if isinstance(before, Tensor):
        assert isinstance(now, Tensor), where
        assert now.dtype == before.dtype, where
        assert torch.equal(now, before), where
    elif isinstance(before, dict):
        assert list(now) == list(before), where
        for key in before:
            assert_same(now[key], before[key], f"{where}/{key}")
    elif isinstance(before, tuple):
        assert len(now) == len(before), where
        for one, other in zip(now, before, strict=True):
            assert_same(one, other, where)
    else:
        assert now is before or now == before, where


def test_energy_of_a_call_lies_in_its_interval_forward_and_backward() -> None:
    model = nn.Sequential(Linear(8, 8), ReLU())
    found = isolate(model, torch.randn(4, 8), backward=True, seconds=1.0, progress=False)
    assert found.simulated
    assert found.left_out == {}
    assert [(row.path, row.direction) for row in found] == [
        ("0", "forward"),
        ("0", "backward"),
        ("1", "forward"),
        ("1", "backward"),
    ]
    for row in found:
        if (row.path, row.direction) == ("1", "backward"):
            continue  # its backward takes microseconds
        truth_j = WATTS[row.type.split("(")[0]][row.direction == "backward"] * row.call_s
        assert row.call_s > 2e-3
        # An interval of 95 % misses one time in twenty, one of twice its length one time in ten thousand.
        assert abs(row.energy_j - truth_j) <= (row.energy_high_j - row.energy_low_j) + HOST * truth_j
        assert (row.energy_high_j - row.energy_low_j) / 2 < 0.3 * truth_j
        assert row.gap_w == pytest.approx(140, abs=25)
        assert row.clock_mhz == pytest.approx(1980, rel=0.01)
    assert "copies" in found.rows[2].how


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("backward", [False, True])
def test_model_is_bit_by_bit_what_it_was(backward: bool) -> None:
    torch.manual_seed(3)
    model = Odd()
    x = torch.randn(16, 8, requires_grad=True)
    model(x).sum().backward()  # gradients, running means, a cache
    handle = model.twice.register_forward_hook(lambda *_: None)
    before, inputs = state(model), x.detach().clone()
    found = isolate(
        model,
        x,
        layers=["twice", "named", "norm", "drop", "act", "idle", "frozen"],
        backward=backward,
        seconds=0.1,
        progress=False,
    )
    assert_same(state(model), before, "")
    assert torch.equal(x, inputs)
    assert handle.id in model.twice._forward_hooks
    assert found.left_out.pop("idle") == isolation.NEVER_CALLED
    if backward:
        assert found.left_out == {}
    assert {row.path: row.calls for row in found} == {
        "twice": 2,
        "named": 1,
        "norm": 1,
        "drop": 1,
        "act": 1,
        "frozen": 1,
    }


@pytest.mark.usefixtures("quick")
def test_interruption_leaves_the_model_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    model, x = Odd(), torch.randn(16, 8)
    model(x).sum().backward()
    model.idle.weight.grad = torch.ones(8, 8)
    before = state(model)
    rounds = 0
    play_round = measuring.play_round

    def interrupted(*args: Any) -> None:
        nonlocal rounds
        rounds += 1
        if rounds == 3:
            model.twice.weight.data.add_(1)
            with torch.no_grad():
                model.norm.weight.add_(1)  # as a layer might, through PyTorch
            model.twice.weight.data.sub_(1)
            raise KeyboardInterrupt
        play_round(*args)

    monkeypatch.setattr(measuring, "play_round", interrupted)
    with pytest.raises(KeyboardInterrupt):
        isolate(model, x, layers=["*"], backward=True, seconds=1.0, progress=False)
    assert_same(state(model), before, "")
    assert joulemap.current_session() is None


@pytest.mark.usefixtures("quick")
def test_a_layer_that_cannot_be_called_alone_is_told_and_harms_no_other() -> None:
    class Once(nn.Module):
        calls = 0

        def forward(self, x: Tensor) -> Tensor:
            Once.calls += 1
            if Once.calls > 1:
                raise RuntimeError("only once\nadvice")
            return x

    found = isolate(nn.Sequential(Once(), nn.Linear(8, 8)), torch.randn(2, 8), seconds=0.1, progress=False)
    assert found.left_out == {"0": "RuntimeError: only once"}
    assert [row.path for row in found] == ["1"]


@pytest.mark.usefixtures("quick")
def test_what_no_graph_can_hold_is_called_plainly_and_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    class Refusing(CpuPlayer):
        how = GRAPH

        def burst(self, call: Call, calls: int) -> Burst:
            raise CaptureError("operation not permitted when stream is capturing")

    monkeypatch.setattr(isolation, "player_of", lambda device: Refusing())
    found = isolate(nn.Sequential(nn.Linear(8, 8)), torch.randn(2, 8), seconds=0.1, progress=False)
    assert [row.how for row in found] == ["calls (operation not permitted when stream is capturing)"]


@pytest.mark.usefixtures("quick")
def test_an_open_session_is_used_and_stays_open(session: joulemap.Session) -> None:
    isolate(nn.Sequential(nn.Linear(8, 8)), torch.randn(2, 8), seconds=0.1, progress=False)
    assert joulemap.current_session() is session
    assert "isolate" in {row.path for row in session.report("phase").rows}


def test_layers_are_given_what_the_pass_gave_them() -> None:
    class Wide(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = Keywords()
            self.outer = nn.Linear(6, 4)

        def forward(self, x: Tensor) -> Tensor:
            with torch.autocast("cpu", dtype=torch.bfloat16):
                y: Tensor = self.outer(x.t()[1:])  # strides of a transposed slice
            with torch.no_grad():
                self.inner(left=y, right=y.detach())
            return y.float().sum()

    model = Wide()
    seen: list[tuple[Any, ...]] = []
    x = torch.randn(6, 5, requires_grad=True)
    model.outer.register_forward_hook(
        lambda _, args, out: seen.append(
            (args[0].stride(), args[0].requires_grad, args[0].is_leaf, out.dtype, torch.is_autocast_enabled("cpu"))
        )
    )
    model.inner.register_forward_pre_hook(
        lambda _, args, kwargs: seen.append((len(args), sorted(kwargs), torch.is_grad_enabled())), with_kwargs=True
    )
    taken = record_inputs(model, ["outer", "inner"], lambda: model(x), "cpu", backward=True)
    in_pass = list(seen)
    seen.clear()
    for given in taken.values():
        given.forward()
    assert seen == in_pass
    assert seen[0] == ((1, 5), True, False, torch.bfloat16, True)


def test_an_overwriting_layer_gets_the_same_input_each_time() -> None:
    class Doubles(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x.mul_(2)

    model = nn.Sequential(nn.Linear(4, 4), Doubles())
    x = torch.randn(2, 4)
    given = record_inputs(model, ["1"], lambda: model(x), "cpu", backward=False)["1"]
    given.try_out()
    assert given.overwrites
    outputs = [given.forward().detach().clone() for _ in range(5)]
    assert all(torch.equal(out, outputs[0]) for out in outputs)
    assert torch.equal(outputs[0], model[0](x) * 2)


def windows(energy_j: float, gap_w: float, edge_j: float, noise: Callable[[], float]) -> list[Window]:
    """Return two rounds of a second in each setting on a board that is 3 W warmer in the second."""
    found, call_s = [], 5e-4
    for series in range(2):
        for setting in SETTINGS:
            calls = setting.calls(call_s)
            gap_s = setting.rest_s(call_s)
            bursts = round(1 / (calls * call_s + gap_s))
            total_j = bursts * (calls * energy_j + gap_s * (gap_w + 3 * series) + edge_j) + noise()
            found.append(Window(calls * bursts, bursts, bursts * gap_s, total_j, 0.5, series))
    return found


def test_regression_finds_the_energy_without_noise() -> None:
    found = estimate(windows(0.45, 140.0, 0.025, lambda: 0.0))
    assert found is not None
    assert found.energy_j == pytest.approx(0.45, rel=1e-9)
    assert found.gap_w == pytest.approx(141.5, rel=1e-9)


def test_95_percent_intervals_hold_the_truth_in_95_of_100() -> None:
    """Binomial: of 1000 between 930 and 970 in all but 0.3 % of cases."""
    chance = random.Random(4)
    held = 0
    for _ in range(1000):
        found = estimate(windows(0.45, 140.0, 0.025, lambda: chance.gauss(0, 0.5)))
        assert found is not None
        held += abs(found.energy_j - 0.45) <= found.half_j
    assert 930 <= held <= 970


def test_too_few_windows_or_one_duty_alone_tell_nothing() -> None:
    some = windows(0.45, 140.0, 0.0, lambda: 0.0)
    assert estimate(some[:3]) is None
    assert estimate([some[0]] * 8) is None


@pytest.mark.parametrize(("freedom", "t"), [(1, 12.706), (6, 2.447), (20, 2.086), (30, 2.042), (120, 1.980)])
def test_student(freedom: int, t: float) -> None:
    assert student_95(freedom) == pytest.approx(t, abs=0.004)


@pytest.mark.parametrize("wanted_mhz", [1500.0, 1700.0, 1905.0])
def test_duty_is_moved_until_the_clock_is_the_wanted_one(wanted_mhz: float) -> None:
    """A board whose clock falls with the share of busy time, from 1980 at rest to 1450 without gaps."""

    def clock_mhz(factor: float) -> float:
        return 1980 - 530 / (1 + factor)

    duty = Duty(wanted_mhz)
    for _ in range(12):
        duty.learn(duty.factor, clock_mhz(duty.factor))
    assert duty.matches(clock_mhz(duty.factor))


def test_rounds_at_another_clock_do_not_count() -> None:
    part = Part("a", "b", lambda: None, duty=Duty(1900.0))
    for series, mhz, factor in ((0, 1980.0, 2.0), (1, 1905.0, 1.0), (2, 1901.0, 1.0)):
        for one in windows(0.45 * factor, 140.0, 0.025, lambda: 0.0)[:5]:
            to_ns = round(1e9 * (one.gap_s + one.calls * 5e-4))
            part.played.append(
                PlayedWindow(
                    0, to_ns, int(one.calls), one.bursts, one.calls * 5e-4, series, 1.0, one.energy_j, 0.5, mhz
                )
            )
    figure = Quantity(part).figure()
    assert figure is not None
    assert figure.energy_j == pytest.approx(0.45, rel=1e-3)
    assert figure.clock_mhz == pytest.approx(1903)


@pytest.mark.usefixtures("quick")
def test_result_as_table_csv_and_data_frame(tmp_path: Path) -> None:
    model = nn.ModuleDict({"a": nn.Linear(8, 8), "b": nn.Linear(8, 8)})
    found = isolate(model, lambda: model["a"](torch.randn(2, 8)), seconds=0.1, progress=False)
    found.to_csv(tmp_path / "layers.csv")
    with (tmp_path / "layers.csv").open() as file:
        lines = list(csv.DictReader(file))
    assert list(lines[0])[:7] == ["path", "type", "direction", "energy_j", "u_j", "call_s", "clock_mhz"]
    assert float(lines[0]["energy_j"]) == found.rows[0].energy_j
    assert float(lines[0]["u_j"]) == pytest.approx(
        (found.rows[0].energy_high_j - found.rows[0].energy_low_j) / 2 / 1.96, rel=1e-4
    )
    assert found.to_pandas()["path"].tolist() == ["a"]
    assert f"left out: b: {isolation.NEVER_CALLED}" in found.table()
    assert "simulated" in found.table()


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_inference_is_isolated_as_inference(mode: Callable[[], Any]) -> None:
    class Doubles(nn.Module):
        modes: tuple[bool, bool] = (True, True)

        def forward(self, x: Tensor) -> Tensor:
            self.modes = (torch.is_grad_enabled(), torch.is_inference_mode_enabled())
            return x.mul_(2)

    doubles = Doubles()
    model = nn.Sequential(nn.Linear(4, 4), doubles)
    x = torch.randn(2, 4)
    with mode():
        given = record_inputs(model, ["1"], lambda: model(x), "cpu", backward=False)["1"]
        wanted = model(x)
    given.try_out()
    assert given.overwrites
    assert torch.equal(given.forward(), wanted)
    assert torch.equal(given.forward(), wanted)
    assert doubles.modes == (False, mode is torch.inference_mode)


@pytest.mark.usefixtures("quick")
def test_isolate_in_inference_mode_restores_too() -> None:
    model, x = Odd().eval(), torch.randn(16, 8)
    with torch.no_grad():
        model(x)
    before = state(model)
    with torch.inference_mode():
        found = isolate(model, x, layers=["named", "act"], seconds=0.1, progress=False)
    assert_same(state(model), before, "")
    assert found.left_out == {}
    assert [row.path for row in found] == ["named", "act"]


def test_default_layers_are_the_top_level_blocks() -> None:
    model = nn.Module()
    model.stem = nn.Linear(2, 2)
    model.blocks = nn.ModuleList([nn.TransformerEncoderLayer(8, 2), nn.Sequential(nn.Linear(2, 2), nn.ReLU())])
    assert isolation.default_layers(model) == ["stem", "blocks.0", "blocks.1"]
    outer = nn.Module()
    outer.model = model
    outer.head = nn.Linear(2, 2)
    assert isolation.default_layers(outer) == ["model.stem", "model.blocks.0", "model.blocks.1", "head"]


def test_a_sequential_of_plain_layers_is_one_block_unless_it_is_alone() -> None:
    def plain() -> nn.Sequential:
        return nn.Sequential(nn.Conv2d(1, 1, 1), nn.ReLU())

    model = nn.Module()
    model.stem, model.stage, model.head = plain(), nn.Sequential(nn.Sequential(plain(), plain())), nn.Linear(1, 1)
    assert isolation.default_layers(model) == ["stem", "stage.0.0", "stage.0.1", "head"]
    assert isolation.default_layers(plain()) == ["0", "1"]
    alone = nn.Module()
    alone.net = plain()
    assert isolation.default_layers(alone) == ["net.0", "net.1"]


def test_wrong_arguments_are_told() -> None:
    model = nn.Sequential(nn.Linear(2, 2))
    x = torch.randn(1, 2)
    with pytest.raises(TypeError, match=r"layers=\['0'\]"):
        isolate(model, x, layers="0")
    with pytest.raises(ValueError, match="no module 'blocks'; this model has: 0"):
        isolate(model, x, layers=["blocks"])
    with pytest.raises(ValueError, match="precision is a number above 0"):
        isolate(model, x, precision=0)
    options: list[tuple[dict[str, Any], str]] = [
        ({"layers": 3}, r"layers is a list of paths, not 3 \(int\)"),
        ({"seconds": "x"}, r"seconds is a number, not 'x' \(str\)"),
        ({"backward": 1}, r"backward is True or False, not 1 \(int\)"),
        ({"seed": 0.5}, "seed is a whole number, not 0.5"),
    ]
    for wish, words in options:
        with pytest.raises(TypeError, match=words):
            isolate(model, x, **wish)
    with pytest.raises(TypeError, match=r"takes a torch.nn.Module"):
        isolate(x, x)  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def no_session_left() -> Iterator[None]:
    yield
    session = joulemap.current_session()
    assert session is None or session.running
