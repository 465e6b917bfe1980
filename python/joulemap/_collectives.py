"""Collectives that a PyTorch program calls from Python, as spans with operation, group and bytes.

`torch.distributed` makes all its calls through methods of `ProcessGroup`, also those of FSDP2 and pipelines, so these
methods are wrapped while a session runs. Functional collectives (tensor parallelism, DTensor) bypass them; see
`_functional_collectives.py`. Compiled code uses neither. DistributedDataParallel's reducer is C++ and is not seen
here; on a GPU NCCL's own NVTX ranges show it (src/inject/nvtx.c).

The bytes of a message are counted as NCCL does: the input of one rank for an all-gather, its output for a
reduce-scatter, else its whole tensor.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist

from joulemap import _core
from joulemap._patches import Patches

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

# Point-to-point calls; their second argument is the other rank.
_PAIRS = {"send": "send", "recv": "recv"}


def bytes_of(message: Any) -> int:
    """Return the bytes of a tensor, or of nested lists of tensors; -1 for anything else."""
    if isinstance(message, torch.Tensor):
        return message.numel() * message.element_size()
    if not isinstance(message, (list, tuple)):
        return -1
    sizes = [bytes_of(part) for part in message]
    return -1 if -1 in sizes else sum(sizes)


def _rank_list(ranks: list[int]) -> str:
    """Write ranks in order: "0,1"; three or more in a row as "0-7"."""
    runs: list[list[int]] = []
    for rank in sorted(ranks):
        if runs and rank == runs[-1][-1] + 1:
            runs[-1].append(rank)
        else:
            runs.append([rank])
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 2 else ",".join(map(str, run)) for run in runs)


def _title(group: Any) -> str:
    """Return the program's name of a group, for example a mesh dimension; "" if it has none."""
    title = str(getattr(group, "group_desc", "") or "")
    return "" if title == "undefined" else "world" if title == "default_pg" else title


class Collectives(Patches):
    """Wraps PyTorch's calls in spans, and names their groups."""

    def __init__(self) -> None:
        self._groups: dict[tuple[str, str], int] = {}
        super().__init__()

    def group(self, group: Any, pair: tuple[int, int] | None = None) -> int:
        """Return the interned name of a group; the name is the same in all of its processes."""
        key = (str(group.group_name), "" if pair is None else f"{pair}")
        number = self._groups.get(key)
        if number is None:
            members = dist.get_process_group_ranks(group)
            ranks = f"ranks {_rank_list(members)}" if pair is None else f"rank {pair[0]} to {pair[1]}"
            title = _title(group)
            number = self._groups[key] = _core.intern(f"{title} ({ranks})" if title else ranks)
        return number

    def wrap(self, original: Callable[..., Any], begin: Callable[..., int]) -> Callable[..., Any]:
        """Return the original call inside of the span that `begin` opens for its arguments."""

        @functools.wraps(original)
        def call(*args: Any, **kwargs: Any) -> Any:
            if not self.active or torch.compiler.is_compiling():  # Dynamo traces the original
                return original(*args, **kwargs)
            try:
                span = begin(*args, **kwargs)
            except Exception:  # a group or a call of another kind: the program goes on
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
            size = bytes_of(args[message]) if message is not None and message < len(args) else -1
            return _core.collective_begin(name, self.group(group), size)

        return self.wrap(original, begin)

    def _pair(self, operation: str, original: Callable[..., Any]) -> Callable[..., Any]:
        name = _core.intern(operation)

        def begin(group: Any, tensors: Any, other: int, *args: Any, **kwargs: Any) -> int:
            mine, theirs = dist.get_rank(), dist.get_process_group_ranks(group)[other]
            pair = (mine, theirs) if operation == "send" else (theirs, mine)
            return _core.collective_begin(name, self.group(group, pair), bytes_of(tensors))

        return self.wrap(original, begin)


_following: list[_Methods] = []


def follow() -> None:
    """Make spans of collectives from now on."""
    _following.append(_Methods())


def leave() -> None:
    """Stop making spans."""
    _following.pop().end()
