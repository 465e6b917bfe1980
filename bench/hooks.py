"""What a call of a watched PyTorch module costs the program, by the way it is heard of.

python bench/hooks.py [--rounds 9]

A container calls a hundred modules, one after the other. CPU time of the thread in microseconds a call of one of
them, the least of the rounds, in which the ways take turns. "hooks that do nothing" are one pre-hook and one hook of
all modules without a joulemap: PyTorch then takes the slower way through a call. The simulated board; no kernels.
"""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import joulemap
import torch
from joulemap import _core
from joulemap._module_calls import call_tracing, calls
from joulemap._tracing import tracing
from torch import nn
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook

MODULES = 100
PASSES = 20  # of all modules, in a round: few enough that the recorder empties the ring meanwhile


class Empty(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x


class Scale(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2


class Container(nn.Module):
    def __init__(self, cls: type[nn.Module]) -> None:
        super().__init__()
        self.inner = nn.ModuleList(cls() for _ in range(MODULES))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for module in self.inner:
            x = module(x)
        return x


@contextmanager
def plain(_net: nn.Module) -> Iterator[None]:
    yield


@contextmanager
def idle_hooks(_net: nn.Module) -> Iterator[None]:
    handles = [register_module_forward_pre_hook(lambda *_: None), register_module_forward_hook(lambda *_: None)]
    yield
    for handle in handles:
        handle.remove()


@contextmanager
def watched(net: nn.Module, by_hooks: bool = False) -> Iterator[None]:
    call_tracing.requested = by_hooks
    with joulemap.Session(sim="h200", cpu=False) as run:
        run.watch(net)
        assert calls.on is not by_hooks
        yield


@contextmanager
def untraced(net: nn.Module) -> Iterator[None]:
    """As a step is that a budget leaves out."""
    with watched(net):
        tracing.update(_core.TRACING["steps"])
        yield
        tracing.update(_core.TRACING["on"])


@contextmanager
def other_watched(_net: nn.Module) -> Iterator[None]:
    with watched(Empty()):
        yield


WAYS = {
    "plain": plain,
    "untraced step of a budget": untraced,
    "another model watched": other_watched,
    "watched": watched,
    "watched, by hooks": lambda net: watched(net, by_hooks=True),
    "hooks that do nothing": idle_hooks,
}


def call_us(net: nn.Module, x: torch.Tensor, run: Callable[[nn.Module, torch.Tensor], object]) -> float:
    run(net, x)
    begin_ns = time.thread_time_ns()
    for _ in range(PASSES):
        run(net, x)
    return (time.thread_time_ns() - begin_ns) / PASSES / MODULES / 1000


def forward(net: nn.Module, x: torch.Tensor) -> object:
    return net(x)


def both(net: nn.Module, x: torch.Tensor) -> object:
    return net(x.detach().requires_grad_()).backward(x)


def measure(rounds: int) -> None:
    cases = {
        "empty": (Container(Empty), False, forward),
        "empty, gradients": (Container(Empty), True, forward),
        "x * 2": (Container(Scale), False, forward),
        "x * 2, gradients": (Container(Scale), True, forward),
        "and backward": (Container(Scale), True, both),
    }
    least = {(way, case): float("inf") for way in WAYS for case in cases}
    for _ in range(rounds):
        for way, enter in WAYS.items():
            for case, (net, gradients, run) in cases.items():
                # a node of its own, as the input of a module inside of a model has
                x = torch.zeros(4, requires_grad=True) * 1 if gradients else torch.zeros(4)
                with ExitStack() as stack:
                    stack.enter_context(enter(net))
                    stack.enter_context(torch.set_grad_enabled(gradients))
                    least[way, case] = min(least[way, case], call_us(net, x, run))
    print(f"{'us a call of a module':28}" + "".join(f"{case:>18}" for case in cases))
    for way in WAYS:
        print(f"{way:28}" + "".join(f"{least[way, case]:18.2f}" for case in cases))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    print(f"Python {platform.python_version()}, PyTorch {torch.__version__}")
    measure(arguments.rounds)


if __name__ == "__main__":
    main()
