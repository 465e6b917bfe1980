"""Values that may be missing, and must not be here."""

from __future__ import annotations


def known(value: float | None) -> float:
    assert value is not None
    return value
