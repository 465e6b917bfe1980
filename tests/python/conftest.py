"""Fixtures: a session on the simulated board, and what its rings hold."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import joulemap
import pytest
from ring_reader import Span, read_spans


@pytest.fixture
def session() -> Iterator[joulemap.Session]:
    with joulemap.Session(sim="h200", cpu=False) as run:
        yield run


@pytest.fixture
def spans(session: joulemap.Session) -> Callable[..., list[Span]]:
    """Return a function that gives the spans written so far, of the given kinds or of all."""

    begin_ns = time.monotonic_ns()

    def read(*kinds: str) -> list[Span]:
        found = read_spans(session.environment()["JOULEMAP_RUN"])
        return [span for span in found if span.start_ns >= begin_ns and (not kinds or span.kind in kinds)]

    return read
