"""Functional collectives of PyTorch as spans. DTensor uses them, and with it tensor parallelism."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import torch.distributed as dist
from torch.distributed import _functional_collectives
from torch.distributed import distributed_c10d as _c10d

from joulemap import _core
from joulemap._collectives import Collectives, bytes_of

_C10D: Any = _c10d  # type checkers do not see its private functions

# The operation, and whether the message size is that of the result (else of the input).
_FUNCTIONS = {
    "all_reduce": ("all-reduce", False),
    "all_reduce_coalesced": ("all-reduce", False),
    "broadcast": ("broadcast", False),
    "all_gather_tensor": ("all-gather", False),
    "all_gather_into_tensor_coalesced": ("all-gather", False),
    "reduce_scatter_tensor": ("reduce-scatter", True),
    "reduce_scatter_tensor_coalesced": ("reduce-scatter", True),
    "all_to_all_single": ("all-to-all", False),
}


class _Functions(Collectives):
    def begin(self) -> None:
        for name, (operation, of_result) in _FUNCTIONS.items():
            if hasattr(_functional_collectives, name):
                self.put(_functional_collectives, name, functools.partial(self._function, operation, of_result))

    def _function(self, operation: str, of_result: bool, original: Callable[..., Any]) -> Callable[..., Any]:
        name, signature = _core.intern(operation), inspect.signature(original)

        def begin(*args: Any, **kwargs: Any) -> int:
            given = signature.bind(*args, **kwargs).arguments
            resolved = _functional_collectives._resolve_group_name(given["group"], given.get("tag", ""))
            group = _C10D._resolve_process_group(resolved)
            size = bytes_of(next(iter(given.values())))
            if of_result and size > 0:
                size //= len(dist.get_process_group_ranks(group))
            return _core.collective_begin(name, self.group(group), size)

        return self.wrap(original, begin)


_following: list[_Functions] = []


def follow() -> None:
    """Make spans of functional collectives from now on."""
    _following.append(_Functions())


def leave() -> None:
    """Stop making spans."""
    _following.pop().end()
