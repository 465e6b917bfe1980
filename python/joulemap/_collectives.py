"""Collectives that a PyTorch program calls from Python, as spans: which operation, in which group, how many bytes.

`torch.distributed` makes all its calls through methods of `ProcessGroup`, FSDP2 and pipelines too, so these are
joulemap's while a session runs, and ask PyTorch's own; functional collectives (tensor parallelism, DTensor) go past
them (`_functional.py`). What torch.compile compiles has neither. DistributedDataParallel's reducer is
C++ and is not seen here: of what runs on a GPU NCCL tells by itself (src/inject/nvtx.c).

The bytes of a message are what NCCL counts: what one rank gives to an all-gather, gets of a reduce-scatter, else
all of its tensor.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist

from joulemap import _core
from joulemap._names import Patches

# Methods of ProcessGroup: the operation, and which argument is the message.
_METHODS = {
    "allreduce": ("all-reduce", 0),
    "allreduce_coalesced": ("all-reduce", 0),
    "broadcast": ("broadcast", 0),
    "reduce": ("reduce", 0),
    "allgather": ("all-gather", 1),
    "_allgather_base": ("all-gather", 1),
    "allgather_coalesced": ("all-gather", 1),
    "allgather_into_tensor_coalesced": ("all-gather", 1),
    "reduce_scatter": ("reduce-scatter", 0),
    "_reduce_scatter_base": ("reduce-scatter", 0),
    "reduce_scatter_tensor_coalesced": ("reduce-scatter", 0),
    "alltoall_base": ("all-to-all", 1),
    "alltoall": ("all-to-all", 1),
    "all_gather_single": ("all-gather", 1),  # these five from PyTorch 2.13 on
    "all_gather_single_coalesced": ("all-gather", 1),
    "reduce_scatter_single": ("reduce-scatter", 0),
    "reduce_scatter_single_coalesced": ("reduce-scatter", 0),
    "all_to_all_single": ("all-to-all", 1),
    "gather": ("gather", 1),
    "scatter": ("scatter", 0),
    "barrier": ("barrier", None),
}

# The same of point-to-point calls, whose second argument is the other rank.
_PAIRS = {"send": "send", "recv": "recv"}


def bytes_of(message: Any) -> int:
    """Of a tensor, or of lists of them; -1: something else."""
    if isinstance(message, torch.Tensor):
        return message.numel() * message.element_size()
    if not isinstance(message, (list, tuple)):
        return -1
    sizes = [bytes_of(part) for part in message]
    return -1 if -1 in sizes else sum(sizes)


def _numbers(ranks: list[int]) -> str:
    """Write ranks in order: "0,1" and, from three in a row on, "0-7"."""
    runs: list[list[int]] = []
    for rank in sorted(ranks):
        if runs and rank == runs[-1][-1] + 1:
            runs[-1].append(rank)
        else:
            runs.append([rank])
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 2 else ",".join(map(str, run)) for run in runs)


def _title(group: Any) -> str:
    """How a program calls a group: the dimension of its mesh, say."""
    title = str(getattr(group, "group_desc", "") or "")
    return "" if title == "undefined" else "world" if title == "default_pg" else title


def _titled(title: str, ranks: str) -> str:
    return f"{title} ({ranks})" if title else ranks


class Collectives(Patches):
    """Calls in the place of PyTorch's own, and what groups are called."""

    def __init__(self) -> None:
        self._groups: dict[tuple[str, str], int] = {}
        super().__init__()

    def group(self, group: Any, pair: tuple[int, int] | None = None) -> int:
        """Give the number of its text, which is the same in all of its processes."""
        key = (str(group.group_name), "" if pair is None else f"{pair}")
        known = self._groups.get(key)
        if known is None:
            ranks = dist.get_process_group_ranks(group)
            told = f"ranks {_numbers(ranks)}" if pair is None else f"rank {pair[0]} to {pair[1]}"
            known = self._groups[key] = _core.intern(_titled(_title(group), told))
        return known

    def around(self, original: Callable[..., Any], begin: Callable[..., int]) -> Callable[..., Any]:
        """Make a call that asks the original, in the span that `begin` opens of the same arguments."""

        @functools.wraps(original)
        def call(*args: Any, **kwargs: Any) -> Any:
            if not self.active or torch.compiler.is_compiling():  # Dynamo goes through to PyTorch's own
                return original(*args, **kwargs)
            try:
                span = begin(*args, **kwargs)
            except Exception:  # a group, or a call, that is not as PyTorch's are: the program goes on
                span = 0
            try:
                return original(*args, **kwargs)
            finally:
                _core.span_end(span)

        return call


class _Methods(Collectives):
    def begin(self) -> None:
        for name, (operation, message) in _METHODS.items():
            if hasattr(dist.ProcessGroup, name):
                self.put(dist.ProcessGroup, name, functools.partial(self._method, operation, message))
        for name, operation in _PAIRS.items():
            self.put(dist.ProcessGroup, name, functools.partial(self._pair, operation))

    def _method(self, operation: str, message: int | None, original: Callable[..., Any]) -> Callable[..., Any]:
        name = _core.intern(operation)

        def begin(group: Any, *args: Any, **kwargs: Any) -> int:
            known = message is not None and message < len(args)
            size = bytes_of(args[message]) if message is not None and known else -1
            return _core.collective_begin(name, self.group(group), size)

        return self.around(original, begin)

    def _pair(self, operation: str, original: Callable[..., Any]) -> Callable[..., Any]:
        name = _core.intern(operation)

        def begin(group: Any, tensors: Any, other: int, *args: Any, **kwargs: Any) -> int:
            mine, theirs = dist.get_rank(), dist.get_process_group_ranks(group)[other]
            pair = (mine, theirs) if operation == "send" else (theirs, mine)
            return _core.collective_begin(name, self.group(group, pair), bytes_of(tensors))

        return self.around(original, begin)


_following: list[_Methods] = []


def follow() -> None:
    """Make spans of collectives from now on."""
    _following.append(_Methods())


def leave() -> None:
    """Make none any more."""
    _following.pop().end()
