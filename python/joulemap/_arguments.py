"""Arguments that are wrong, told in the caller's words."""

from __future__ import annotations

import operator
from typing import Any


def text(what: str, value: Any) -> str:
    """Return `value` if it is a text.

    Raises
    ------
    TypeError
        If not; it names `what`.
    """
    if not isinstance(value, str):
        raise TypeError(f"{what} is a text, not {value!r} ({type(value).__name__})")
    return value


def whole(what: str, value: Any, most: int = 2**63 - 1) -> int:
    """Return `value` as an int from 0 to `most`; numbers of NumPy and PyTorch are taken.

    Raises
    ------
    TypeError, ValueError
        If it is no whole number, or out of range; they name `what`.
    """
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{what} is a whole number, not {value!r} ({type(value).__name__})") from None
    if not 0 <= number <= most:
        raise ValueError(f"{what} is a whole number from 0 to {most}, not {number}")
    return number


def real(what: str, value: Any, above: float, most: float) -> float:
    """Return `value` as a float in (above, most]; numbers of NumPy and PyTorch are taken.

    Raises
    ------
    TypeError, ValueError
        If it is no number, or out of range; they name `what`.
    """
    if isinstance(value, str):
        raise TypeError(f"{what} is a number, not {value!r} (str)")
    try:
        number = float(value)
    except TypeError:
        raise TypeError(f"{what} is a number, not {value!r} ({type(value).__name__})") from None
    if not above < number <= most:
        raise ValueError(f"{what} is a number above {above:g}, up to {most:g}, not {number:g}")
    return number
