"""Requests of a server, and the batch of requests that each step works on.

Requests overlap, and may begin in one thread and end in another, so marks record them, not spans. Marks also record the
batch of a step: only what changed since the previous step of the thread. docs/file-format.md describes the marks;
src/attribute/input/batches.c reads them.
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

# The tokens of a request in a step: a count, a pair (prefill, decode), or None if unknown.
Fed = Union[int, "tuple[int, int]", None]
Requests = Union["Mapping[Request, Fed]", "Iterable[Request]"]

_REQUEST = "joulemap: request"
_ENDED = "joulemap: request ended"
_BATCH = "joulemap: requests of a step"

_MOST = 2**32 - 1  # tokens
_MAX_IN_MARK = 500  # requests: a mark holds 64 KiB
_MAX_CHANGES = 256  # marks until the whole batch is written again, which limits the harm of a lost mark

_numbers = itertools.count(1)


class _Runs:
    """Counts the runs of this process: a new run has none of the earlier marks."""

    def __init__(self) -> None:
        self.number = 0

    def advance(self) -> None:
        self.number += 1


_runs = _Runs()
os.register_at_fork(after_in_child=_runs.advance)


def start_run() -> None:
    """Note that a run has started: requests and batches must be marked again."""
    _runs.advance()


class Request:
    """A request to a server, from `joulemap.request` to `end`.

    It may begin in one thread or task and end in another, and overlap with others. As a context manager, plain or
    `async`, it ends with the block. Its joules are its share of each `run.step(requests=...)` that it takes part in.
    Outside a run it does nothing.

    Attributes
    ----------
    id : str
        Name of its row.
    tokens : int
        Tokens of its prompt, 0 if unknown; may be set until its first step.
    made : int or None
        Tokens of its output, if they are not the tokens of its decode steps (speculative decoding discards some); may
        be set until it ends. None: all decode tokens.
    """

    __slots__ = ("_ended", "_number", "_processed", "_run", "_steps", "id", "made", "tokens")

    def __init__(self, id: str, tokens: int = 0) -> None:
        self.id = _arguments.text("the id of a request", id)
        self.tokens = _arguments.whole("tokens", tokens, _MOST)
        self.made: int | None = None
        self._number = next(_numbers)
        self._processed = 0  # tokens so far
        self._steps = 0
        self._ended = False
        self._run = 0
        self._begin()

    def _begin(self) -> None:
        """Mark its begin in the present run."""
        self._run = _runs.number
        meta: dict[str, Any] = {"request": self._number, "id": self.id}
        if self.tokens:
            meta["tokens"] = self.tokens
        _core.mark(_REQUEST, json.dumps(meta))

    def end(self) -> None:
        """End the request, answered or given up; a second call does nothing.

        Raises
        ------
        TypeError, ValueError
            If `made` is no whole number from 0.
        """
        if self._ended:
            return
        self._ended = True
        meta = {"request": self._number}
        if self.made is not None:
            meta["made"] = _arguments.whole("made", self.made, _MOST)
        _core.mark(_ENDED, json.dumps(meta))

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
        """Return the tokens of prefill and of decode in a step; -1: that part, with unknown tokens."""
        first = self._steps == 0
        self._steps += 1
        if isinstance(fed, tuple):
            prefill, decode = (_arguments.whole("tokens of a request", part, _MOST) for part in fed)
            self._processed += prefill + decode
            return (prefill, decode) if prefill + decode else self._unknown(first)
        if fed is None or (count := _arguments.whole("tokens of a request", fed, _MOST)) == 0:
            return self._unknown(first)
        prompt_left = max(0, self.tokens - self._processed) if self.tokens else count if first else 0
        prefill = min(count, prompt_left)
        self._processed += count
        return prefill, count - prefill

    def _unknown(self, first: bool) -> tuple[int, int]:
        return (-1, 0) if first else (0, -1)

    def __repr__(self) -> str:
        return f"<joulemap.types.Request {self.id!r}: {'ended' if self._ended else 'open'}>"


def request(id: str, tokens: int = 0) -> Request:
    """Begin a request of a server that answers several at once.

    Parameters
    ----------
    id : str
        Name of its row in `report("request")` and `joulemap report FILE --by request`.
    tokens : int
        Tokens of its prompt. Its tokens up to that number are prefill, later ones decode. 0 if unknown: its first step
        is its prefill.

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


class _Marked(threading.local):
    """The batch that this thread has marked last."""

    def __init__(self) -> None:
        self.run = -1
        self.marks = 0
        self.complete_at = 0  # the number of the last mark of a whole batch
        self.batch: dict[int, tuple[int, int]] = {}


_marked = _Marked()


def _write(changed: dict[int, tuple[int, int]], gone: list[int], whole_batch: bool) -> None:
    numbers = list(changed)
    for first in range(0, max(len(numbers), len(gone), 1), _MAX_IN_MARK):
        _marked.marks += 1
        meta: dict[str, Any] = {"n": _marked.marks}
        if whole_batch and first == 0:
            meta["all"] = True
        if part := numbers[first : first + _MAX_IN_MARK]:
            meta["in"] = {number: changed[number] for number in part}
        if left := gone[first : first + _MAX_IN_MARK]:
            meta["out"] = left
        _core.mark(_BATCH, json.dumps(meta, separators=(",", ":")))


def mark_batch(requests: Requests | None) -> int:
    """Mark the requests of the thread's next step; return their tokens, or 0 if those of one are unknown."""
    if requests is None:
        if not _marked.batch:
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
    if _marked.run != _runs.number:
        _marked.run, _marked.batch, _marked.marks, _marked.complete_at = _runs.number, {}, 0, 0
    if batch != _marked.batch:
        if _marked.marks == 0 or _marked.marks - _marked.complete_at > _MAX_CHANGES:
            _marked.complete_at = _marked.marks
            _write(batch, [], True)
        else:
            changed = {number: fed for number, fed in batch.items() if _marked.batch.get(number) != fed}
            _write(changed, [number for number in _marked.batch if number not in batch], False)
        _marked.batch = batch
    parts = [part for fed in batch.values() for part in fed]
    return min(sum(parts), _MOST) if all(part >= 0 for part in parts) else 0
