"""Batches of the loaders of accelerate."""

from __future__ import annotations

import time
from collections.abc import Callable

import joulemap
from accelerate import data_loader
from ring_reader import Span
from torch import nn, zeros
from torch.utils.data import TensorDataset

WAIT_S = 0.02
Spans = Callable[..., list[Span]]


def test_a_loader_of_accelerate_is_followed_where_the_loop_sees_it(session: joulemap.Session, spans: Spans) -> None:
    """It fetches a batch ahead: each batch is to be the time in which the loop has it."""
    session.watch(nn.Sequential(nn.Linear(64, 128), nn.ReLU()))
    loader = data_loader.DataLoaderShard(TensorDataset(zeros(6, 64)), batch_size=2)
    for _ in range(2):
        for _ in loader:
            time.sleep(WAIT_S)
    found = spans("batch")
    assert [span.samples for span in found] == [2] * 6
    assert all((span.ended_ns - span.start_ns) * 1e-9 >= WAIT_S for span in found)
    assert session.report().totals.samples == 12
    session.unwatch()
    assert data_loader.DataLoaderShard.__iter__.__module__ == "accelerate.data_loader"
    assert not hasattr(data_loader.DataLoaderShard.__iter__, "__wrapped__")
