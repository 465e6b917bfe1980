"""Batches of data loaders, found to be steps: how many, of how many samples and tokens, and the wait for each."""

from __future__ import annotations

import gc
import io
import time
from collections.abc import Callable, Iterator
from typing import Any

import joulemap
import pytest
import torch
from joulemap import _batch_counts
from ring_reader import Span
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset, IterableDataset
from torch.utils.data.dataloader import _BaseDataLoaderIter

WAIT_S = 0.02
Spans = Callable[..., list[Span]]
ASKED = vars(_BaseDataLoaderIter)["__next__"]  # PyTorch's own


class Slow(Dataset[Tensor]):
    """Numbers, each of which takes its time."""

    def __init__(self, count: int, wait_s: float = 0.0, bad: int = -1) -> None:
        self.count, self.wait_s, self.bad = count, wait_s, bad

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Tensor:
        time.sleep(self.wait_s)
        if index == self.bad:
            raise KeyError("a bad sample")
        return torch.full((64,), float(index))


class Endless(IterableDataset[Tensor]):
    def __iter__(self) -> Iterator[Tensor]:
        while True:
            yield torch.zeros(3)


def make_model() -> nn.Module:
    return nn.Sequential(nn.Linear(64, 128), nn.ReLU())


def seconds(span: Span) -> float:
    return (span.ended_ns - span.start_ns) * 1e-9


def test_batches_are_steps_with_their_samples(session: joulemap.Session) -> None:
    session.watch(model := make_model())
    with session.phase("train"):
        for batch in DataLoader(Slow(22), batch_size=4):
            model(batch)
    report = session.report("phase")
    assert (report.totals.steps, report.totals.samples, report.totals.tokens) == (6, 22, None)
    assert report.totals.steps_found == "batch of a DataLoader"
    rows = {row.path: row for row in report}
    assert (rows["train"].samples, rows["train/batch"].calls) == (22, 6)
    assert (report.totals.step_name, report.totals.step_phase) == ("batch of a DataLoader", "train")
    assert "of 6 steps, steady; each a batch of a DataLoader)" in " ".join(report.table().split())


def test_a_wait_is_a_span_of_its_own_and_no_row(session: joulemap.Session, spans: Spans) -> None:
    session.watch(model := make_model())
    for batch in DataLoader(Slow(6, WAIT_S), batch_size=2):
        model(batch)
        time.sleep(3 * WAIT_S)
    waits, batches = spans("data"), spans("batch")
    assert [seconds(span) > 2 * WAIT_S for span in waits] == [True] * 3 + [False]  # the last one: there is none
    assert [seconds(span) > 3 * WAIT_S for span in batches] == [True] * 3
    # A batch begins when the wait for it is over, and ends before the next one is waited for.
    times = [
        t for wait, batch in zip(waits, batches, strict=False) for t in (wait.ended_ns, batch.start_ns, batch.ended_ns)
    ]
    assert times == sorted(times)
    assert all(batch.ended_ns <= wait.start_ns for batch, wait in zip(batches, waits[1:], strict=True))
    assert "data" not in {row.kind for row in session.report("layer")}


def test_steps_that_the_program_tells_win(session: joulemap.Session) -> None:
    session.watch(model := make_model())
    for batch in DataLoader(Slow(12), batch_size=4):
        with session.step(samples=1):
            model(batch)
    totals = session.report().totals
    assert (totals.steps, totals.samples, totals.steps_found) == (3, 3, None)


def test_nothing_is_found_where_it_is_not_wanted(tmp_path: Any) -> None:
    with joulemap.Session(sim="h200", cpu=False, steps=False) as run:
        run.watch(model := make_model())
        assert vars(_BaseDataLoaderIter)["__next__"] is ASKED
        for batch in DataLoader(Slow(12), batch_size=4):
            model(batch)
    assert run.report().totals.steps is None
    with pytest.raises(ValueError, match="steps is"):
        joulemap.Session(steps=True)  # type: ignore[arg-type]


def test_each_of_two_loaders_has_batches_of_its_own(session: joulemap.Session, spans: Spans) -> None:
    session.watch(model := make_model())
    validation = DataLoader(Slow(3), batch_size=1)
    for batch in DataLoader(Slow(8), batch_size=4):
        model(batch)
        for inner in validation:
            model(inner)
    found = spans("batch")
    outer = [span for span in found if span.samples == 4]
    assert [len(found), len(outer)] == [8, 2]
    for span in found:
        around = [o for o in outer if o.start_ns < span.start_ns and span.ended_ns <= o.ended_ns]
        assert len(around) == (0 if span in outer else 1)
    assert session.report().totals.steps == 2  # one inside another is a part of it


@pytest.mark.parametrize("how", ["fork", pytest.param("spawn", marks=pytest.mark.proof), "persistent"])
def test_loaders_with_workers_are_followed_here_and_not_there(
    session: joulemap.Session, spans: Spans, how: str
) -> None:
    session.watch(model := make_model())
    kept = how == "persistent"
    loader = DataLoader(
        Slow(8), batch_size=2, num_workers=2, multiprocessing_context="fork" if kept else how, persistent_workers=kept
    )
    for _ in range(2):
        for batch in loader:
            model(batch)
    assert [span.samples for span in spans("batch")] == [2] * 8
    assert session.report().totals.steps == 8


def test_a_loop_that_breaks_ends_its_batch(session: joulemap.Session, spans: Spans) -> None:
    session.watch(make_model())
    for _ in DataLoader(Endless(), batch_size=2):
        break
    gc.collect()
    end_ns = time.monotonic_ns()
    time.sleep(WAIT_S)
    (batch,) = spans("batch")
    assert batch.ended_ns <= end_ns


def test_a_loop_that_breaks_ends_its_batch_though_its_workers_persist(session: joulemap.Session, spans: Spans) -> None:
    session.watch(make_model())
    loader = DataLoader(Slow(8), batch_size=2, num_workers=1, persistent_workers=True)
    with session.phase("train"):
        for _ in loader:
            break
    with session.phase("validate"):
        for _ in DataLoader(Slow(1)):
            pass
    assert len(spans("batch")) == 2
    report = session.report("phase")
    assert report.totals.steps == 2
    assert {"train", "validate"} <= {row.path for row in report}


def test_what_a_loader_raises_comes_through_untouched(session: joulemap.Session, spans: Spans) -> None:
    session.watch(make_model())
    seen = 0
    with pytest.raises(KeyError, match="a bad sample"):
        for _ in DataLoader(Slow(6, bad=4), batch_size=2):
            seen += 1
    assert seen == 2
    assert len(spans("batch")) == 2
    assert all(span.ended_ns > 0 for span in spans("batch", "data"))


def test_the_end_of_the_watch_ends_all_of_it() -> None:
    with joulemap.Session(sim="h200", cpu=False) as run:
        first, second = run.watch(make_model()), run.watch(make_model())
        assert vars(_BaseDataLoaderIter)["__next__"] is not ASKED
        loader = iter(DataLoader(Slow(8), batch_size=2))
        next(loader)
        first.remove()
        next(loader)
        second.remove()
        second.remove()
        assert vars(_BaseDataLoaderIter)["__next__"] is ASKED
        next(loader)
        totals = run.report().totals
    assert totals.steps == 2


def test_a_loader_that_is_followed_can_be_saved(session: joulemap.Session) -> None:
    session.watch(make_model())
    loader = DataLoader(Slow(4), batch_size=2)
    assert len(list(loader)) == 2
    buffer = io.BytesIO()
    torch.save(loader, buffer)
    assert b"joulemap" not in buffer.getvalue()


@pytest.mark.parametrize(
    ("batch", "size", "whole", "samples"),
    [
        ((torch.zeros(5, 3), torch.zeros(5)), 8, False, 5),
        ({"a": [{"b": torch.zeros(())}, torch.zeros(7, 2)]}, None, False, 7),
        (["a", "b"], 2, True, 2),  # of a map that drops what is left: always that many
        (["a", "b"], 2, False, 0),
        (torch.zeros(9, 2), 8, False, 0),  # the nodes of eight graphs, say
        (torch.tensor(3.0), None, False, 0),
    ],
)
def test_samples_are_told_where_they_are_sure(batch: Any, size: int | None, whole: bool, samples: int) -> None:
    assert _batch_counts.samples(batch, size, whole) == samples


def test_tokens_are_those_that_are_no_padding() -> None:
    ids, mask = torch.zeros(2, 6, dtype=torch.long), torch.tensor([[1] * 6, [1] * 4 + [0] * 2])
    assert _batch_counts.tokens({"input_ids": ids, "attention_mask": mask}) == 10
    assert _batch_counts.tokens({"input_ids": ids}) == 12
    assert _batch_counts.tokens({"input_ids": ids, "attention_mask": mask.to("meta")}) == 12  # no device is asked
    assert _batch_counts.tokens([ids]) == 0


def test_a_dataset_that_makes_its_own_batches_tells_no_samples(session: joulemap.Session, spans: Spans) -> None:
    session.watch(make_model())
    assert len(list(DataLoader(Slow(3), batch_size=None))) == 3
    assert [span.samples for span in spans("batch")] == [0, 0, 0]
