"""Fixtures: a session on the simulated board, and what its rings hold."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import joulemap
import pytest
from ring_reader import Span, read_spans


def pytest_configure() -> None:
    """Make all machines alike.

    Pools of threads have one: of several, each waits for the others, and on busy processors that is 0.1 s. Inductor
    compiles where it is called, and its headers with each kernel: a process that compiles, and headers compiled before,
    take longer than all that tests have to compile. Ctrl-C is heard, here and in what tests start: what a shell starts
    in the background does not hear it.
    """
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
    os.environ.setdefault("TORCHINDUCTOR_CPP_CACHE_PRECOMPILE_HEADERS", "0")
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave what is slow to the proof, as tests in C do."""
    if os.environ.get("JOULEMAP_PROOF", "0") not in ("", "0"):
        return
    slow = [item for item in items if item.get_closest_marker("proof")]
    config.hook.pytest_deselected(items=slow)
    items[:] = [item for item in items if item not in slow]


@pytest.fixture
def session() -> Iterator[joulemap.Session]:
    """A session of the test's own."""
    with joulemap.Session(sim="h200", cpu=False) as run:
        yield run


@pytest.fixture(scope="module")
def module_session() -> Iterator[joulemap.Session]:
    with joulemap.Session(sim="h200", cpu=False) as run:
        yield run


@pytest.fixture
def watching(module_session: joulemap.Session) -> Iterator[joulemap.Session]:
    """A session for all tests of a file, in which no model is watched: starting one takes half a second."""
    assert not module_session._watches
    yield module_session
    module_session.unwatch()


@pytest.fixture
def spans(request: pytest.FixtureRequest) -> Callable[..., list[Span]]:
    """Return a function that gives the spans written so far, of the given kinds or of all."""

    name = "watching" if "watching" in request.fixturenames else "session"
    session: joulemap.Session = request.getfixturevalue(name)
    begin_ns = time.monotonic_ns()

    def read(*kinds: str) -> list[Span]:
        found = read_spans(session.environment()["JOULEMAP_RUN"])
        return [span for span in found if span.start_ns >= begin_ns and (not kinds or span.kind in kinds)]

    return read


@pytest.fixture(scope="session")
def inductor_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Inductor's own folder: what earlier runs compiled does not count.

    Nor does Inductor compile a program for each set of vector instructions, to see whether it has them: kernels that
    are named after modules need none, and it takes twice as long as the kernels.
    """
    from torch._inductor import cpu_vec_isa

    folder = tmp_path_factory.mktemp("inductor")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TORCHINDUCTOR_CACHE_DIR", str(folder))
        patch.setattr(cpu_vec_isa, "valid_vec_isa_list", list)
        yield folder


@pytest.fixture
def fresh_dynamo(inductor_cache: Path) -> Iterator[None]:
    """torch.compile as at the start of a program."""
    import torch
    from torch._dynamo.utils import counters

    torch._dynamo.reset()
    counters.clear()
    torch.manual_seed(0)
    yield
    torch._dynamo.reset()


@pytest.fixture
def inductor() -> None:
    """Inductor's compiler: it gives the linker PyTorch's own path as it is, a blank in it too."""
    import torch

    if " " in torch.__file__:
        pytest.skip("Inductor cannot link where PyTorch's path has a blank")
