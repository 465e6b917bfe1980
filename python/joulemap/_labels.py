"""What is in the values that modules are given and give, besides what the core knows: tensors, tuples, lists, dicts."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any


def parts(value: Any) -> list[Any] | None:
    """Return what is in a mapping or a dataclass, None for anything else."""
    if isinstance(value, Mapping):
        return list(value.values())
    if dataclasses.is_dataclass(value):
        return [getattr(value, field.name, None) for field in dataclasses.fields(value)]
    return None
