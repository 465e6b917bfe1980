"""Requests of a server: which of them each step worked on.

A request is no span: it overlaps with others, begins in one thread and ends in another. So it is told by marks, as is
the batch of a step, of which only what has changed since the thread's step before is written. docs/file-format.md
has the marks; src/attribute/input/batches.c reads them.
"""

from __future__ import annotations

import itertools
import json
import os
import threading
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Union

from joulemap import _arguments, _core

if TYPE_CHECKING:
    from typing_extensions import Self

# What a request is fed in a step: tokens, (of prefill, of decode), or None where nobody knows.
Fed = Union[int, "tuple[int, int]", None]
Requests = Union["Mapping[Request, Fed]", "Iterable[Request]"]

_REQUEST = "joulemap: request"
_ENDED = "joulemap: request ended"
_BATCH = "joulemap: requests of a step"

_MOST = 2**32 - 1  # tokens
_IN_A_MARK = 500  # requests: a mark holds 64 KiB
_MARKS_OF_CHANGES = 256  # then one says all once more, so that a lost mark spoils no more than those

_numbers = itertools.count(1)


class _Runs:
    """Counts the runs of this process: what was told to one, the next has not heard."""

    def __init__(self) -> None:
        self.number = 0

    def renew(self) -> None:
        self.number += 1


_runs = _Runs()
os.register_at_fork(after_in_child=_runs.renew)


def renew() -> None:
    """Begin anew: a run has started, which was told nothing yet."""
    _runs.renew()


class Request:
    """A request to a server, from its making to `end`. `joulemap.request` makes one.

    It may begin in one thread or task and end in another, and overlap with any others; as a context manager, plain or
    `async`, it ends with the block. Its joules are its share of each `run.step(requests=...)` that it was in. Outside a
    run it does nothing.

    Attributes
    ----------
    id : str
        What its row is called.
    tokens : int
        Tokens of its prompt, 0 if unknown; may be set until its first step.
    made : int or None
        Tokens that came out, if that is not what it was fed in decode (a speculation of which some is thrown away);
        may be set until it ends. None: all of them.
    """

    __slots__ = ("_ended", "_fed", "_number", "_run", "_steps", "id", "made", "tokens")

    def __init__(self, id: str, tokens: int = 0) -> None:
        self.id = _arguments.text("the id of a request", id)
        self.tokens = _arguments.whole("tokens", tokens, _MOST)
        self.made: int | None = None
        self._number = next(_numbers)
        self._fed = 0  # tokens so far
        self._steps = 0
        self._ended = False
        self._run = 0
        self._begin()

    def _begin(self) -> None:
        """Tell the run of it, unless it knows."""
        self._run = _runs.number
        told: dict[str, Any] = {"request": self._number, "id": self.id}
        if self.tokens:
            told["tokens"] = self.tokens
        _core.mark(_REQUEST, json.dumps(told))

    def end(self) -> None:
        """Mark it as answered, or given up; a second call does nothing.

        Raises
        ------
        TypeError, ValueError
            If `made` is no whole number from 0.
        """
        if self._ended:
            return
        self._ended = True
        told = {"request": self._number}
        if self.made is not None:
            told["made"] = _arguments.whole("made", self.made, _MOST)
        _core.mark(_ENDED, json.dumps(told))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.end()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.end()

    def _parts(self, fed: Fed) -> tuple[int, int]:
        """Return tokens of prefill and of decode in a step; -1: that, but nobody knows how many."""
        first = self._steps == 0
        self._steps += 1
        if isinstance(fed, tuple):
            prefill, decode = (_arguments.whole("tokens of a request", part, _MOST) for part in fed)
            self._fed += prefill + decode
            return (prefill, decode) if prefill + decode else self._unmarked(first)
        if fed is None or (count := _arguments.whole("tokens of a request", fed, _MOST)) == 0:
            return self._unmarked(first)
        prompt_left = max(0, self.tokens - self._fed) if self.tokens else count if first else 0
        prefill = min(count, prompt_left)
        self._fed += count
        return prefill, count - prefill

    def _unmarked(self, first: bool) -> tuple[int, int]:
        return (-1, 0) if first else (0, -1)

    def __repr__(self) -> str:
        return f"<joulemap.types.Request {self.id!r}: {'ended' if self._ended else 'open'}>"


def request(id: str, tokens: int = 0) -> Request:
    """Begin a request of a server that answers several at once.

    Parameters
    ----------
    id : str
        What its row is called: `report("request")`, `joulemap report FILE --by request`.
    tokens : int
        Tokens of its prompt. What it is fed up to that many is its prefill, what comes after its decode. 0 if unknown:
        its first step is its prefill.

    Returns
    -------
    Request
        For `run.step(requests=...)`; `end()` ends it, or a `with` block.

    Raises
    ------
    TypeError, ValueError
        If `id` is no text, or `tokens` no whole number from 0.

    Examples
    --------
    >>> request = joulemap.request("chat-17", tokens=len(prompt))  # doctest: +SKIP
    >>> with run.step(requests={request: len(prompt), another: 1}):  # doctest: +SKIP
    ...     forward(batch)
    >>> request.end()  # doctest: +SKIP
    """
    return Request(id, tokens)


class _Told(threading.local):
    """The batch that this thread has told of last."""

    def __init__(self) -> None:
        self.run = -1
        self.marks = 0
        self.all_at = 0  # which of them said all
        self.batch: dict[int, tuple[int, int]] = {}


_told = _Told()


def _write(changed: dict[int, tuple[int, int]], gone: list[int], all_of_it: bool) -> None:
    numbers = list(changed)
    for first in range(0, max(len(numbers), len(gone), 1), _IN_A_MARK):
        _told.marks += 1
        meta: dict[str, Any] = {"n": _told.marks}
        if all_of_it and first == 0:
            meta["all"] = True
        if part := numbers[first : first + _IN_A_MARK]:
            meta["in"] = {number: changed[number] for number in part}
        if left := gone[first : first + _IN_A_MARK]:
            meta["out"] = left
        _core.mark(_BATCH, json.dumps(meta, separators=(",", ":")))


def tell(requests: Requests | None) -> int:
    """Say which requests the step that follows in this thread works on; return their tokens, 0 if not told of each."""
    if requests is None:
        if not _told.batch:
            return 0
        requests = ()
    pairs = requests.items() if isinstance(requests, Mapping) else ((each, None) for each in requests)
    batch: dict[int, tuple[int, int]] = {}
    for each, fed in pairs:
        if not isinstance(each, Request):
            raise TypeError(f"requests are what joulemap.request() gives, not {each!r} ({type(each).__name__})")
        if each._run != _runs.number:
            each._begin()
        batch[each._number] = each._parts(fed)
    if _told.run != _runs.number:
        _told.run, _told.batch, _told.marks, _told.all_at = _runs.number, {}, 0, 0
    if batch != _told.batch:
        if _told.marks == 0 or _told.marks - _told.all_at > _MARKS_OF_CHANGES:
            _told.all_at = _told.marks
            _write(batch, [], True)
        else:
            changed = {number: fed for number, fed in batch.items() if _told.batch.get(number) != fed}
            _write(changed, [number for number in _told.batch if number not in batch], False)
        _told.batch = batch
    parts = [part for fed in batch.values() for part in fed]
    return min(sum(parts), _MOST) if all(part >= 0 for part in parts) else 0
