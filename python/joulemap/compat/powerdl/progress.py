"""What a profiled program is at: phases, epochs and batches as spans and marks of the session."""

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
    """An epoch: its number in its training, when it was (CLOCK_MONOTONIC), and which batches are its."""

    number: int
    start_ns: int
    end_ns: int
    first: int
    count: int


class Inference(NamedTuple):
    """When an inference was (CLOCK_MONOTONIC), and of how many samples."""

    start_ns: int
    end_ns: int
    samples: int


@dataclass
class InferenceSize:
    """How many samples an inference has had so far."""

    samples: int = 0


class Progress:
    """Tells the session where the program is, and keeps what reports are made of: 16 bytes a batch.

    Attributes
    ----------
    trainings : list of (start, end)
        When there was training, CLOCK_MONOTONIC; a validation interrupts it.
    epochs : list of Epoch
        Of all trainings, in order.
    sizes, losses : array
        Of each batch; a size of -1 and a loss of NaN are not known.
    inferences : list of Inference
        Without their warm-up.
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
        """Begin a training, and a phase of its own."""
        synchronize()
        self._session.mark("train_start")
        self._begin_phase()

    def _begin_phase(self) -> None:
        self._train = self._session.phase(TRAIN)
        self._train.begin()

    def begin_epoch(self, number: int) -> None:
        """Begin an epoch."""
        if self._train is None:  # it ended for a validation
            self._begin_phase()
        self._session.mark("epoch_start", epoch=number)
        self._epoch = self._session.epoch()
        self._epoch.begin()
        self.epochs.append(Epoch(number, self._epoch.start_ns or 0, 0, len(self.sizes), 0))

    def begin_batch(self, samples: int = -1) -> None:
        """Begin a batch of so many samples; -1: not known yet."""
        number = self.epochs[-1].count
        self.epochs[-1].count += 1
        self.sizes.append(samples)
        self.losses.append(math.nan)
        self._guard.look()
        self._session.mark("batch_start", batch=number)
        self._step = self._session.step(max(samples, 0), BATCH)
        self._step.begin()
        # Where no kernels are seen, batches of a kind are taken to draw the same power: that is what a type says.
        self._work = self._session.window(BATCH, type="train batch")
        self._work.begin()

    def end_batch(self, samples: int | None = None, loss: float = math.nan) -> None:
        """End it; a loss that is not known yet is told by `tell_losses`."""
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

    def tell_losses(self, losses: list[float]) -> None:
        """Tell the losses of the first batches of the epoch."""
        first = self.epochs[-1].first
        self.losses[first : first + len(losses)] = array("d", losses)

    def end_epoch(self) -> None:
        """End the epoch; what its batches launched has to be done."""
        if self._epoch is None:
            return
        self.end_batch()
        self._epoch.end()
        self.epochs[-1].end_ns = self._epoch.end_ns or 0
        self._epoch = None
        self._session.mark("epoch_end", epoch=self.epochs[-1].number)

    def pause_train(self) -> None:
        """End epoch and phase: what comes is of neither."""
        self.end_epoch()
        if self._train is not None:
            self._train.end()
            self.trainings.append((self._train.start_ns or 0, self._train.end_ns or 0))
        self._train = None

    def trained(self) -> list[tuple[int, int]]:
        """Return when there was training, of one that is going on up to the end of its last epoch."""
        ended_ns = max((epoch.end_ns for epoch in self.epochs), default=0)
        start_ns = 0 if self._train is None else self._train.start_ns or 0
        return [*self.trainings, *([(start_ns, ended_ns)] if 0 < start_ns < ended_ns else [])]

    def end_train(self) -> None:
        """End the training."""
        self.pause_train()
        self._session.mark("train_end")

    # ---- the rest ----

    @contextmanager
    def validation(self) -> Iterator[None]:
        """Be a phase of its own, in no training's joules."""
        self.pause_train()
        with self._session.phase(VALIDATE):
            yield

    @contextmanager
    def warm_up(self) -> Iterator[None]:
        """Be a phase that is in no inference's joules."""
        self._session.mark("warmup_start")
        with self._session.phase(WARMUP):
            yield
            synchronize()
        self._session.mark("warmup_end")

    @contextmanager
    def inference(self) -> Iterator[InferenceSize]:
        """Be an inference; what it gives takes the number of its samples."""
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
        self._guard.look()
        return self._session.window(BATCH, type="infer batch")
