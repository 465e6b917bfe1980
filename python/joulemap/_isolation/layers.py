"""All of it: choose the layers, take what they are given, measure each alone, leave the model as it was."""

from __future__ import annotations

import contextlib
import fnmatch
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from joulemap import Session, _core, current_session
from joulemap._burst import Player, first_line, player_of
from joulemap._describe import describe
from joulemap._isolation.given import Given, copied, mapped, take, tensors_of
from joulemap._isolation.kept import kept
from joulemap._isolation.measure import LEAST_ROUNDS, Board, Part, Quantity, make_ready, measure
from joulemap._isolation.result import IsolatedLayer, IsolatedLayers
from joulemap._isolation.settings import SETTINGS, Duty
from joulemap._progress_bar import Bar
from joulemap._session import MeasuringSession

NEVER_CALLED = "the pass never calls it"
LEAST_WINDOW_S = 0.25
MOST_WINDOW_S = 1.2
_SHOWN = 8
_CONTAINERS = (nn.Sequential, nn.ModuleList, nn.ModuleDict)

_BACKWARD = _core.SPAN_KINDS["backward"]


def _is_block(module: nn.Module) -> bool:
    """Return whether a module is a few plain layers in a row, such as Conv2d, BatchNorm2d, ReLU."""
    return type(module) is nn.Sequential and not any(list(layer.children()) for layer in module)


def default_layers(model: nn.Module) -> list[str]:
    """Return the top-level blocks: members of the outermost containers (Sequential, ModuleList), and what is beside.

    A Sequential of plain layers is a block itself where others are beside it.
    """

    def below(module: nn.Module, path: str, inside: bool) -> Iterator[str]:
        children = list(module.named_children())
        for name, child in children:
            inner = f"{path}.{name}" if path else name
            if _is_block(child) and len(children) > 1:
                yield inner
            elif type(child) in _CONTAINERS:
                yield from below(child, inner, True)
            elif not inside and any(type(part) in _CONTAINERS for part in child.modules()):
                yield from below(child, inner, False)  # "model" of a language model, "bert", "encoder"
            else:
                yield inner

    return list(below(model, "", False))


def chosen_layers(model: nn.Module, layers: Sequence[str] | None) -> list[str]:
    """Return paths of modules, in the model's order.

    Raises
    ------
    TypeError
        If `layers` is one text: a list is meant.
    ValueError
        If a name fits no module, or there is nothing to choose from.
    """
    if isinstance(layers, str):
        raise TypeError(f"layers is a list of paths, not a text: layers=[{layers!r}]")
    if layers is not None and not isinstance(layers, Iterable):
        raise TypeError(f"layers is a list of paths, not {layers!r} ({type(layers).__name__})")
    paths = [path for path, _ in model.named_modules(remove_duplicate=False) if path]
    wanted: set[str] = set()
    for pattern in default_layers(model) if layers is None else layers:
        found = [pattern] if pattern in paths else fnmatch.filter(paths, pattern)
        if not found:
            some = ", ".join(paths[:_SHOWN]) + (", ..." if len(paths) > _SHOWN else "")
            raise ValueError(f"layers: no module {pattern!r}; this model has: {some or 'none'}")
        wanted.update(found)
    if not wanted:
        raise ValueError("layers: there is nothing to isolate: the model has no modules inside, or the list is empty")
    return [path for path in paths if path in wanted]


def pass_of(model: nn.Module, inputs: Any) -> Callable[[], Any]:
    """Return one forward pass: of a callable the call, else of the model with copies of the inputs."""
    if callable(inputs) and not isinstance(inputs, torch.Tensor):
        return lambda: inputs()
    given = mapped(dict(inputs) if isinstance(inputs, Mapping) else inputs, copied)
    if isinstance(given, dict):
        return lambda: model(**given)
    if isinstance(given, tuple | list):
        return lambda: model(*given)
    return lambda: model(given)


def device_of(model: nn.Module, inputs: Any) -> torch.device:
    """Return where the model lies.

    Raises
    ------
    ValueError
        If it lies on several GPUs.
    """
    tensors = [*model.parameters(), *model.buffers()] or list(tensors_of(inputs))
    devices = {tensor.device for tensor in tensors}
    gpus = {device for device in devices if device.type != "cpu"}
    if len(gpus) > 1:
        raise ValueError(f"isolate() takes a model on one GPU; this one lies on {', '.join(sorted(map(str, gpus)))}")
    return next(iter(gpus), torch.device("cpu"))


@dataclass(frozen=True)
class _Wanted:
    """A layer in one direction."""

    given: Given
    type: str
    direction: str
    quantity: Quantity

    def row(self) -> IsolatedLayer | None:
        """Return its figures; None if they could not be found."""
        figure = self.quantity.figure()
        if figure is None:
            return None
        how = self.quantity.whole.how
        if self.quantity.whole.why:
            how += f" ({self.quantity.whole.why})"
        if self.given.overwrites and self.direction == "forward":
            how += ", less copies of what it overwrites"
        return IsolatedLayer(
            path=self.given.path,
            type=self.type,
            direction=self.direction,
            calls=self.given.calls,
            energy_j=figure.energy_j,
            energy_low_j=figure.energy_j - figure.half_j,
            energy_high_j=figure.energy_j + figure.half_j,
            call_s=figure.call_s,
            clock_mhz=figure.clock_mhz,
            gap_w=figure.gap_w,
            how=how,
        )


def _wanted(player: Player, given: Given, *, backward: bool) -> list[_Wanted]:
    """Make a layer ready: its forward, and forward with backward, from which forward is taken off.

    Raises
    ------
    RuntimeError, ...
        Whatever the layer says when it is called alone.
    """
    type_text = describe(given.module)
    with player.stream():
        given.try_out()
    forward = Part(given.path, type_text, given.forward)
    copies = Part(given.path, "copies", given.put_back) if given.overwrites else None
    wanted = [_Wanted(given, type_text, "forward", Quantity(forward, copies))]
    if backward:
        with player.stream():
            both = given.both_ways(_core.Span(_BACKWARD, given.path, _core.intern(type_text)))
        wanted.append(_Wanted(given, type_text, "backward", Quantity(Part(given.path, type_text, both), forward)))
    for one in wanted:
        for part in one.quantity.parts:
            if part.call_s == 0:
                make_ready(player, part)
    return wanted


@contextlib.contextmanager
def _session() -> Iterator[Session]:
    """Give the open session, else one of our own."""
    session = current_session()
    if session is not None:
        yield session
        return
    with MeasuringSession(kernels=False, cpu=False, counters=False) as own:
        yield own


def isolate(
    model: nn.Module,
    inputs: Any,
    *,
    layers: Sequence[str] | None,
    backward: bool,
    seconds: float,
    precision: float,
    clock_mhz: float | None,
    progress: bool,
    seed: int,
) -> IsolatedLayers:
    """Measure layers alone; `joulemap.torch.isolate` has the words."""
    paths = chosen_layers(model, layers)
    player = player_of(device_of(model, inputs))
    chance = random.Random(seed)
    bar = Bar(progress)
    left_out: dict[str, str] = {}
    wanted: list[_Wanted] = []
    with kept(model), _session() as run, run.phase("isolate"):
        with player.stream():
            taken = take(model, paths, pass_of(model, inputs), player.device.type, backward=backward)
        for number, (path, given) in enumerate(taken.items()):
            bar.show("making ready", number / len(taken))
            if given.calls == 0:
                left_out[path] = NEVER_CALLED
                continue
            try:
                wanted += _wanted(player, given, backward=backward)
            except Exception as error:  # a layer that cannot be called alone harms no other
                left_out[path] = f"{type(error).__name__}: {first_line(error)}"
        quantities = [one.quantity for one in wanted]
        for quantity in quantities:
            for part in quantity.parts:
                part.duty = Duty(clock_mhz)
        board = Board(run, player.device)
        parts = len({id(part) for quantity in quantities for part in quantity.parts})
        window_s = seconds / max(1, parts * len(SETTINGS) * LEAST_ROUNDS)
        measure(
            player,
            board,
            quantities,
            window_s=min(MOST_WINDOW_S, max(LEAST_WINDOW_S, window_s)),
            chance=chance,
            seconds=seconds,
            precision=precision,
            told=lambda share: bar.show("isolating", share),
        )
    bar.end()
    rows = [(one, one.row()) for one in wanted]
    left_out.update({one.given.path: "its windows tell no energy of a call" for one, row in rows if row is None})
    return IsolatedLayers([row for _, row in rows if row is not None], left_out, board.simulated)
