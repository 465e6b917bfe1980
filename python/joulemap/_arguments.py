"""Checks of arguments, whose errors name the argument."""

from __future__ import annotations

import operator
import os
from typing import Any, NamedTuple

from joulemap import _core

_UUIDS = ("GPU-", "MIG-")


def text(what: str, value: Any) -> str:
    """Return `value` if it is a text, with surrogates and NUL as escapes for the core.

    Raises
    ------
    TypeError
        If not; it names `what`.
    """
    if not isinstance(value, str):
        raise TypeError(f"{what} is a text, not {value!r} ({type(value).__name__})")
    return _core.readable(value)


def path(what: str, value: Any) -> str:
    """Return a path as text.

    Raises
    ------
    TypeError
        If `value` is no path; it names `what`.
    """
    try:
        return os.fsdecode(value)
    except TypeError:
        raise TypeError(f"{what} is a path, not {value!r} ({type(value).__name__})") from None


def flag(what: str, value: Any) -> bool:
    """Return `value` if it is True or False.

    Raises
    ------
    TypeError
        If not; it names `what`.
    """
    if not isinstance(value, bool):
        raise TypeError(f"{what} is True or False, not {value!r} ({type(value).__name__})")
    return value


class Gpu(NamedTuple):
    """A GPU by its index, by CUDA's index (`is_cuda`), or by its UUID ("" if not given)."""

    number: int
    is_cuda: bool = False
    uuid: str = ""

    def is_that_of(self, number: int | None, cuda_index: int | None, uuid: str) -> bool:
        """Return whether it names the GPU with these."""
        return uuid == self.uuid if self.uuid else self.number == (cuda_index if self.is_cuda else number)

    def __str__(self) -> str:
        return self.uuid or f"{'cuda:' if self.is_cuda else ''}{self.number}"


def gpu(what: str, value: Any) -> Gpu:
    """Parse the argument that names a GPU.

    Parameters
    ----------
    what : str
        Name of the argument.
    value : int, str or torch.device
        A number: the index of `joulemap list` and nvidia-smi. "cuda:1": CUDA's index after CUDA_VISIBLE_DEVICES;
        "cuda" is "cuda:0". "GPU-...": the UUID.

    Raises
    ------
    TypeError, ValueError
        If it is none of these; they name `what`.
    """
    if isinstance(getattr(value, "type", None), str) and hasattr(value, "index"):  # a torch.device
        value = str(value)
    if isinstance(value, str):
        if value.startswith(_UUIDS):
            return Gpu(-1, uuid=value)
        kind, _, index = value.partition(":")
        if kind != "cuda" or not (index.isdecimal() or value == "cuda"):
            raise ValueError(f'{what} is the index or UUID of a GPU, as 0, "cuda:0" or "GPU-...", not {value!r}')
        return Gpu(int(index or 0), is_cuda=True)
    if isinstance(value, bool):
        raise TypeError(f"{what} is the index of a GPU, not {value!r} (bool)")
    return Gpu(whole(what, value, 2**31 - 1))


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


def whole_or_all(what: str, value: Any, most: int = 2**63 - 1) -> int:
    """Return `value` as an int from 1 to `most`; None becomes 0, which the core takes for all.

    Raises
    ------
    TypeError, ValueError
        If it is no whole number, or out of range; they name `what`.
    """
    if value is None:
        return 0
    number = whole(what, value, most)
    if number == 0:
        raise ValueError(f"{what} is a whole number from 1, or None for all, not 0")
    return number


def interval(from_ns: Any, to_ns: Any) -> tuple[int, int]:
    """Return the ends of an interval as the core takes them: (0, 0), all time, if both are None.

    Raises
    ------
    TypeError, ValueError
        If one is no time, or `to_ns` lies before `from_ns`.
    """
    if from_ns is None and to_ns is None:
        return 0, 0
    begin = 0 if from_ns is None else whole("from_ns", from_ns)
    end = 2**63 - 1 if to_ns is None else whole("to_ns", to_ns)
    if end < begin:
        raise ValueError(f"to_ns={end} lies before from_ns={begin}")
    return begin, end


def share(what: str, value: Any) -> float:
    """Return `value` as a float in (0, 1). A caller who gives 1 or more probably means percent.

    Raises
    ------
    TypeError, ValueError
        If it is no number or out of range; they name `what`.
    """
    if not isinstance(value, str) and hasattr(value, "__float__") and float(value) >= 1:
        raise ValueError(f"{what} is a share below 1, which means 100 %: {float(value):g} % is {float(value) / 100:g}")
    return real(what, value, 0, 1)


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
