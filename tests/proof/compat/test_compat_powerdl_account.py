"""How joules come to PowerDL's batches, on rows put down by hand: kernels run later than they are launched."""

from __future__ import annotations

from typing import Any

import pytest
from joulemap._report import Sum
from joulemap._row_types import Row
from joulemap._tree import grow
from joulemap.compat.powerdl.account import take_account
from joulemap.compat.powerdl.progress import Epoch, Inference
from joulemap.compat.powerdl.samples import Window

MS = 1_000_000


def row(name: str, kind: str, depth: int, energy_j: float, half_j: float, **told: Any) -> Row:
    empty: dict[str, Any] = dict.fromkeys(Row.__dataclass_fields__)
    return Row(
        **{
            **empty,
            "name": name,
            "path": name,
            "kind": kind,
            "depth": depth,
            "busy_s": 0.0,
            "energy_j": energy_j,
            "energy_low_j": energy_j - half_j,
            "energy_high_j": energy_j + half_j,
            "provenance": "fitted",
            **told,
        }
    )


def batch(start_ms: int, busy_ms: int, energy_j: float, half_j: float = 0.5) -> Row:
    return row("batch", "step", 2, energy_j, half_j, start_ns=start_ms * MS, busy_s=busy_ms / 1e3)


class Told:
    """A run's reports, as they are told; `spans` are rows by span, `phases` those by phase."""

    def __init__(self, spans: list[Row], phases: list[Row], energies: dict[tuple[int, int], Sum]) -> None:
        self.rows, self._phases, self._energies = spans, phases, energies

    def report(self, by: str, **_: Any) -> Told:
        assert by == "span"
        return self

    def tree(self, by: str) -> Any:
        assert by == "phase"
        return grow(self._phases)

    def energy(self, from_ns: int, to_ns: int, **_: Any) -> Sum:
        return self._energies[from_ns // MS, to_ns // MS]


class Done:
    """Where a program was: two trainings, of two epochs and one, and an inference."""

    epochs = (
        Epoch(0, 1 * MS, 60 * MS, 0, 2),
        Epoch(1, 61 * MS, 99 * MS, 2, 1),
        Epoch(0, 200 * MS, 240 * MS, 3, 1),
    )
    inferences = (Inference(110 * MS, 130 * MS, 7),)

    def trained(self) -> list[tuple[int, int]]:
        return [(0, 100 * MS), (200 * MS, 240 * MS)]


PHASES = [
    row("train", "phase", 0, 0.0, 0.0),
    row("epoch", "epoch", 1, 0.0, 0.0),
    row("other", "other", 2, 1.0, 0.0, busy_s=0.01),  # a copy between two batches
    row("step", "step", 2, 0.0, 0.0),
    row("other", "other", 3, 45.0, 1.0, busy_s=0.1),
    row("(idle)", "idle", 3, 3.0, 0.0, busy_s=0.03),
    row("infer", "phase", 0, 0.0, 0.0),
    row("(idle)", "idle", 1, 70.0, 0.0, busy_s=0.01),  # none of the trainings'
]


def told(measured_j: float, half_j: float = 0.0) -> Told:
    spans = [
        row("train", "phase", 0, 37.0, 1.0),
        row("epoch", "epoch", 1, 20.0, 0.9),
        batch(5, 20, 10.0),
        batch(30, 20, 10.0),
        row("epoch", "epoch", 1, 15.0, 0.8),
        batch(63, 30, 15.0),
        row("train", "phase", 0, 10.0, 1.0),
        row("epoch", "epoch", 1, 10.0, 0.7),
        batch(201, 30, 10.0),
    ]
    second = Sum(11.0, 11.0, 11.0)
    first_j = measured_j - 11.0
    return Told(
        spans,
        PHASES,
        {
            (0, 100): Sum(first_j, first_j - half_j, first_j + half_j),
            (200, 240): second,
            (110, 130): Sum(4.0, 3.0, 5.0),
        },
    )


def account(run: Told) -> Any:
    return take_account(run, Window(0, 300 * MS, 0, 0), Done())  # type: ignore[arg-type]


def test_a_batch_lasts_from_its_first_kernel_to_the_next_ones() -> None:
    found = account(told(49.0))
    assert [one.time_s for one in found.batches] == pytest.approx([0.030, 0.031, 0.039, 0.040])
    assert [one.time_s for one in found.epochs] == pytest.approx([0.061, 0.039, 0.040])
    assert found.train.time_s == pytest.approx(0.140)


def test_what_lies_between_batches_is_at_the_power_of_waiting() -> None:
    # 0.04 s of waiting took 4 J: 100 W. Of 0.140 s the batches worked 0.100: 0.010, 0.011, 0.009, 0.010 are left.
    found = account(told(49.0))
    assert [one.energy_j for one in found.batches] == pytest.approx([11.0, 11.1, 15.9, 11.0])
    assert [one.energy_j for one in found.epochs] == pytest.approx([22.1, 15.9, 11.0])
    assert (found.train.energy_j, found.infer.energy_j) == (49.0, 4.0)


def test_batches_are_held_to_what_was_measured_and_share_its_error() -> None:
    found = account(told(98.0, half_j=9.8))
    assert [one.energy_j for one in found.batches] == pytest.approx([22.0, 22.2, 31.8, 22.0])
    first = found.batches[0]
    assert (first.high_j - first.low_j) / 2 == pytest.approx((1.0**2 + 2.2**2) ** 0.5)  # 2 x 0.5 J; 10 % of 22 J
    epoch = found.epochs[0]
    assert (epoch.high_j - epoch.low_j) / 2 == pytest.approx(((0.9 * 44.2 / 20) ** 2 + 4.42**2) ** 0.5)


def test_joules_that_no_sensor_tells_are_not_known() -> None:
    run = told(49.0)
    run._energies[0, 100] = Sum(None, None, None)
    found = account(run)
    assert found.train.energy_j is None
    assert {one.energy_j for one in [*found.batches, *found.epochs]} == {None}
    assert {one.provenance for one in found.batches} == {"unresolved"}
    assert sum(one.time_s for one in found.batches) == pytest.approx(0.140)


def test_batches_whose_spans_were_lost_are_an_error() -> None:
    run = told(49.0)
    run.rows = run.rows[:-1]
    with pytest.raises(Exception, match="4 batches ran, but 3 are in the recording"):
        account(run)
