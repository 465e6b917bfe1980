"""Labels on autograd nodes: whose backward runs when a node does."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, cast

import torch

_LABEL = "joulemap"
_MAX_NESTING = 6  # of tuples, dicts and dataclasses around a module's tensors


def _label_node(node: torch.autograd.graph.Node, hook: Any) -> None:
    metadata: dict[Any, Any] = node.metadata  # type: ignore[assignment]
    if _LABEL not in metadata:
        metadata[_LABEL] = True
        node.register_prehook(hook)


def label(value: Any, hook: Any, nesting: int = _MAX_NESTING) -> None:
    """Register `hook` at the autograd nodes of all tensors in `value`; the first label of a node stays."""
    if isinstance(value, torch.Tensor):
        node = value.grad_fn
        if node is not None:
            _label_node(node, hook)
            if value._is_view():  # an in-place operation that follows would put its own node in place of this one
                node = cast(torch.Tensor, value._base).grad_fn
                if node is not None:
                    _label_node(node, hook)
    elif nesting == 0 or value is None or isinstance(value, str | int | float):
        return
    elif isinstance(value, tuple | list):
        for item in value:
            label(item, hook, nesting - 1)
    elif isinstance(value, Mapping):
        for item in value.values():
            label(item, hook, nesting - 1)
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            label(getattr(value, field.name, None), hook, nesting - 1)


FUNCTIONS = (_label_node, label)
