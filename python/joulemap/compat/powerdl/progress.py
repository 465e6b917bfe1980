"""Progress of a profiled program: phases, epochs and batches as spans and marks of the session."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

from joulemap._gpu import synchronize
from joulemap._scope import Scope
from joulemap._session import Session
from joulemap.compat.powerdl.settings import MemoryGuard

TRAIN, VALIDATE, WARMUP, INFER = "train", "validate", "warmup", "infer"
"""Names of the phases."""

BATCH = "batch"


@dataclass
class Epoch:
    """An epoch: its number in its training, its times (CLOCK_MONOTONIC), and its batches."""

    number: int
    start_ns: int
    end_ns: int
    first: int
    count: int


class Inference(NamedTuple):
    """The times of an inference (CLOCK_MONOTONIC), and its number of samples."""

    start_ns: int
    end_ns: int
    samples: int


@dataclass
class InferenceSize:
    """The number of samples of an open inference."""

    samples: int = 0


class Progress:
    """Marks progress in the session, and keeps the data of reports: 16 bytes per batch.

    Attributes
    ----------
    trainings : list of (start, end)
        Intervals of training, CLOCK_MONOTONIC; a validation interrupts a training.
    epochs : list of Epoch
        Epochs of all trainings, in order.
    sizes, losses : array
        Size and loss of each batch; -1 and NaN are unknown.
    inferences : list of Inference
        Inferences without their warm-up.
    """

    def __init__(self, session: Session, guard: MemoryGuard) -> None:
        self._session = session
        self._guard = guard
        self._train: Scope | None = None
        self._epoch: Scope | None = None
        self._step: Scope | None = None
        self._work: Scope | None = None
        self.trainings: list[tuple[int, int]] = []
        self.epochs: list[Epoch] = []
        self.sizes = array("q")
        self.losses = array("d")
        self.inferences: list[Inference] = []

    # ---- training ----

    def begin_train(self) -> None:
        """Begin a training and its phase."""
        synchronize()
        self._session.mark("train_start")
        self._begin_phase()

    def _begin_phase(self) -> None:
        self._train = self._session.phase(TRAIN)
        self._train.begin()

    def begin_epoch(self, number: int) -> None:
        """Begin an epoch."""
        if self._train is None:  # a validation has ended the phase
            self._begin_phase()
        self._session.mark("epoch_start", epoch=number)
        self._epoch = self._session.epoch()
        self._epoch.begin()
        self.epochs.append(Epoch(number, self._epoch.start_ns or 0, 0, len(self.sizes), 0))

    def begin_batch(self, samples: int = -1) -> None:
        """Begin a batch; `samples`: -1 if not known yet."""
        number = self.epochs[-1].count
        self.epochs[-1].count += 1
        self.sizes.append(samples)
        self.losses.append(math.nan)
        self._guard.check()
        self._session.mark("batch_start", batch=number)
        self._step = self._session.step(max(samples, 0), BATCH)
        self._step.begin()
        # Without kernels, batches of one type are assumed to draw the same power.
        self._work = self._session.window(BATCH, type="train batch")
        self._work.begin()

    def end_batch(self, samples: int | None = None, loss: float = math.nan) -> None:
        """End the batch; `set_losses` sets losses that are not known yet."""
        if self._step is None:
            return
        if samples is not None and samples >= 0:
            self.sizes[-1] = self._step.samples = samples
        self.losses[-1] = loss
        if self._work is not None:
            self._work.end()
        self._step.end()
        self._step = self._work = None
        size = self.sizes[-1]
        self._session.mark("batch_end", batch=self.epochs[-1].count - 1, batch_size=size if size >= 0 else None)

    def set_losses(self, losses: list[float]) -> None:
        """Set the losses of the first batches of the epoch."""
        first = self.epochs[-1].first
        self.losses[first : first + len(losses)] = array("d", losses)

    def end_epoch(self) -> None:
        """End the epoch; the work of its batches must be done."""
        if self._epoch is None:
            return
        self.end_batch()
        self._epoch.end()
        self.epochs[-1].end_ns = self._epoch.end_ns or 0
        self._epoch = None
        self._session.mark("epoch_end", epoch=self.epochs[-1].number)

    def pause_train(self) -> None:
        """End the open epoch and phase."""
        self.end_epoch()
        if self._train is not None:
            self._train.end()
            self.trainings.append((self._train.start_ns or 0, self._train.end_ns or 0))
        self._train = None

    def trained(self) -> list[tuple[int, int]]:
        """Return the intervals of training; an open one counts up to the end of its last epoch."""
        ended_ns = max((epoch.end_ns for epoch in self.epochs), default=0)
        start_ns = 0 if self._train is None else self._train.start_ns or 0
        return [*self.trainings, *([(start_ns, ended_ns)] if 0 < start_ns < ended_ns else [])]

    def end_train(self) -> None:
        """End the training."""
        self.pause_train()
        self._session.mark("train_end")

    # ---- validation and inference ----

    @contextmanager
    def validation(self) -> Iterator[None]:
        """Run a block as a separate phase, which does not count as training."""
        self.pause_train()
        with self._session.phase(VALIDATE):
            yield

    @contextmanager
    def warm_up(self) -> Iterator[None]:
        """Run a block as a separate phase, which does not count as inference."""
        self._session.mark("warmup_start")
        with self._session.phase(WARMUP):
            yield
            synchronize()
        self._session.mark("warmup_end")

    @contextmanager
    def inference(self) -> Iterator[InferenceSize]:
        """Run a block as an inference; the yielded object takes the number of samples."""
        size = InferenceSize()
        synchronize()
        self._session.mark("infer_start")
        with self._session.phase(INFER) as phase:
            yield size
            synchronize()
        self._session.mark("infer_end", n_samples=size.samples)
        self.inferences.append(Inference(phase.start_ns or 0, phase.end_ns or 0, size.samples))

    def infer_batch(self) -> Scope:
        """Return the scope of a batch of an inference."""
        self._guard.check()
        return self._session.window(BATCH, type="infer batch")
