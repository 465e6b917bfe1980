"""The whole of `isolate`: choose layers, record their inputs, measure each one, restore the model."""

from __future__ import annotations

import fnmatch
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from joulemap import _core
from joulemap._burst import Player, first_line, player_of
from joulemap._describe import describe
from joulemap._isolation.layer_inputs import LayerInputs, copy_of, map_tensors, record_inputs, tensors_of
from joulemap._isolation.measure import LEAST_ROUNDS, Board, Part, Quantity, make_ready, measure
from joulemap._isolation.model_state import preserved
from joulemap._isolation.result import IsolatedLayer, IsolatedLayers
from joulemap._isolation.settings import SETTINGS, Duty
from joulemap._progress_bar import Bar
from joulemap._session import energy_session

NEVER_CALLED = "the pass never calls it"
LEAST_WINDOW_S = 0.25
MOST_WINDOW_S = 1.2
_MAX_SHOWN = 8  # paths in an error
_CONTAINERS = (nn.Sequential, nn.ModuleList, nn.ModuleDict)

_BACKWARD = _core.SPAN_KINDS["backward"]


def _is_block(module: nn.Module) -> bool:
    """Return whether a module is a Sequential of layers without children, such as Conv2d, BatchNorm2d, ReLU."""
    return type(module) is nn.Sequential and not any(list(layer.children()) for layer in module)


def default_layers(model: nn.Module) -> list[str]:
    """Return the top-level blocks: members of the outermost containers (Sequential, ModuleList), and other modules.

    A Sequential of plain layers that has siblings is one block.
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
    """Return the paths of the chosen modules, in the model's order.

    Raises
    ------
    TypeError
        If `layers` is one text, not a list.
    ValueError
        If a path or pattern matches no module, or there are no modules.
    """
    if isinstance(layers, str):
        raise TypeError(f"layers is a list of paths, not a text: layers=[{layers!r}]")
    if layers is not None and not isinstance(layers, Iterable):
        raise TypeError(f"layers is a list of paths, not {layers!r} ({type(layers).__name__})")
    paths = [path for path, _ in model.named_modules(remove_duplicate=False) if path]
    chosen: set[str] = set()
    for pattern in default_layers(model) if layers is None else layers:
        found = [pattern] if pattern in paths else fnmatch.filter(paths, pattern)
        if not found:
            some = ", ".join(paths[:_MAX_SHOWN]) + (", ..." if len(paths) > _MAX_SHOWN else "")
            raise ValueError(f"layers: no module {pattern!r}; this model has: {some or 'none'}")
        chosen.update(found)
    if not chosen:
        raise ValueError("layers: there is nothing to isolate: the model has no modules inside, or the list is empty")
    return [path for path in paths if path in chosen]


def pass_of(model: nn.Module, inputs: Any) -> Callable[[], Any]:
    """Return one forward pass: `inputs` itself if it is callable, else a call of the model with copies of them."""
    if callable(inputs) and not isinstance(inputs, torch.Tensor):
        return lambda: inputs()
    copies = map_tensors(dict(inputs) if isinstance(inputs, Mapping) else inputs, copy_of)
    if isinstance(copies, dict):
        return lambda: model(**copies)
    if isinstance(copies, tuple | list):
        return lambda: model(*copies)
    return lambda: model(copies)


def device_of(model: nn.Module, inputs: Any) -> torch.device:
    """Return the device of the model.

    Raises
    ------
    ValueError
        If it is on several GPUs.
    """
    tensors = [*model.parameters(), *model.buffers()] or list(tensors_of(inputs))
    devices = {tensor.device for tensor in tensors}
    gpus = {device for device in devices if device.type != "cpu"}
    if len(gpus) > 1:
        raise ValueError(f"isolate() takes a model on one GPU; this one lies on {', '.join(sorted(map(str, gpus)))}")
    return next(iter(gpus), torch.device("cpu"))


@dataclass(frozen=True)
class _Target:
    """A layer and a direction to measure."""

    inputs: LayerInputs
    type: str
    direction: str
    quantity: Quantity

    def row(self) -> IsolatedLayer | None:
        """Return its result; None if the regression failed."""
        figure = self.quantity.figure()
        if figure is None:
            return None
        how = self.quantity.whole.how
        if self.quantity.whole.why:
            how += f" ({self.quantity.whole.why})"
        if self.inputs.overwrites and self.direction == "forward":
            how += ", less copies of what it overwrites"
        return IsolatedLayer(
            path=self.inputs.path,
            type=self.type,
            direction=self.direction,
            calls=self.inputs.calls,
            energy_j=figure.energy_j,
            energy_low_j=figure.energy_j - figure.half_j,
            energy_high_j=figure.energy_j + figure.half_j,
            call_s=figure.call_s,
            clock_mhz=figure.clock_mhz,
            gap_w=figure.gap_w,
            how=how,
        )


def _targets(player: Player, inputs: LayerInputs, *, backward: bool) -> list[_Target]:
    """Make a layer ready: its forward, and forward with backward, from which forward is subtracted.

    Raises
    ------
    RuntimeError, ...
        Whatever the layer raises when it is called alone.
    """
    path, type_text = inputs.path, describe(inputs.module)
    with player.stream():
        inputs.try_out()
    forward = Part(path, type_text, inputs.forward)
    copies = Part(path, "copies", inputs.restore_inputs) if inputs.overwrites else None
    targets = [_Target(inputs, type_text, "forward", Quantity(forward, copies))]
    if backward:
        with player.stream():
            both = inputs.forward_backward(_core.Span(_BACKWARD, path, _core.intern(type_text)))
        targets.append(_Target(inputs, type_text, "backward", Quantity(Part(path, type_text, both), forward)))
    for target in targets:
        for part in target.quantity.parts:
            if part.call_s == 0:
                make_ready(player, part)
    return targets


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
    """Measure layers in isolation; `joulemap.torch.isolate` documents it."""
    paths = chosen_layers(model, layers)
    player = player_of(device_of(model, inputs))
    chance = random.Random(seed)
    bar = Bar(progress)
    left_out: dict[str, str] = {}
    targets: list[_Target] = []
    with preserved(model), energy_session() as run, run.phase("isolate"):
        with player.stream():
            recorded = record_inputs(model, paths, pass_of(model, inputs), player.device.type, backward=backward)
        for number, (path, layer) in enumerate(recorded.items()):
            bar.show("making ready", number / len(recorded))
            if layer.calls == 0:
                left_out[path] = NEVER_CALLED
                continue
            try:
                targets += _targets(player, layer, backward=backward)
            except Exception as error:  # a layer that cannot be called alone is left out
                left_out[path] = f"{type(error).__name__}: {first_line(error)}"
        quantities = [target.quantity for target in targets]
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
            on_progress=lambda share: bar.show("isolating", share),
        )
    bar.end()
    rows = [(target, target.row()) for target in targets]
    left_out.update({target.inputs.path: "its windows give no energy of a call" for target, row in rows if row is None})
    return IsolatedLayers([row for _, row in rows if row is not None], left_out, board.simulated)
