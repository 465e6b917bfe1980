"""What callbacks of frameworks share: intervals of time, steps for the log, failures that stop no training."""

from __future__ import annotations

import pickle
import resource
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import joulemap
import pytest
from joulemap._energy_hooks import EnergyHooks, harmless
from joulemap._intervals import Ledger, Part, Steps
from joulemap._training import TRAIN, VALIDATE, entry_point
from ring_reader import Span

S = 1_000_000_000


def ended(span: Span) -> int:
    """When a span ended; 0: it is open."""
    return span.end_ns or 0


def test_steps_that_follow_each_other_are_one_stretch() -> None:
    ledger = Ledger()
    for start, end in [(0, 1), (1, 2), (2, 3), (7, 8), (8, 9)]:
        ledger.add(Steps(start * S, end * S, 1, 4, 10))
    assert ledger.take(8 * S) == [Steps(0, 3 * S, 3, 12, 30), Steps(7 * S, 8 * S, 1, 4, 10)]
    assert ledger.take(8 * S) == []
    assert ledger.take(9 * S) == [Steps(8 * S, 9 * S, 1, 4, 10)]


def test_a_million_steps_that_nobody_asks_for_take_little_room() -> None:
    ledger = Ledger()
    for step in range(1_000_000):
        ledger.add(Steps(step, step + 1, 1, 2, 3))
    assert len(ledger._steps) <= 1024
    assert ledger.take(1_000_000) == [Steps(0, 1_000_000, 1_000_000, 2_000_000, 3_000_000)]


def test_steps_that_nobody_asks_for_take_little_room_though_others_lie_between() -> None:
    ledger = Ledger()
    for step in range(10_000):
        ledger.add(Steps(2 * step, 2 * step + 1, 1, 2, 3))
    assert 512 < len(ledger._steps) < 1024
    assert ledger.take(20_000)[-1] == Steps(19_998, 19_999, 1, 2, 3)


def test_joules_of_a_part_are_those_of_its_stretches(session: joulemap.Session) -> None:
    asked: list[tuple[int, int]] = []

    def joules(start_ns: int, end_ns: int) -> float:
        asked.append((start_ns, end_ns))
        return 1.0

    part = Part("train", session.phase, joules)
    for _ in range(200):
        part.begin()
        part.end()
    assert len(part._intervals) < 64
    assert part.energy_j() == 200
    assert part.energy_j() == 200
    assert len(set(asked)) == 200


class Hooks(EnergyHooks):
    """A framework that calls some hooks."""

    @harmless
    def begin(self) -> None:
        self._training.enter(TRAIN)
        self._training.begin_epoch()

    @harmless
    def step(self, samples: int, tokens: int = 0) -> None:
        self._training.begin_step(samples, tokens)

    @harmless
    def end(self) -> None:
        self._training.leave(TRAIN)

    @harmless
    def break_down(self) -> None:
        raise ValueError("of the measuring side")


def test_figures_of_steps_are_the_joules_of_their_time(session: joulemap.Session) -> None:
    hooks = Hooks()
    hooks.begin()
    begins, ends = [time.monotonic_ns()], []
    for _ in range(10):
        hooks.step(8, 100)
        begins.append(time.monotonic_ns())
        time.sleep(0.01)
    ends.append(time.monotonic_ns())
    hooks._training.end_step()
    ends.append(time.monotonic_ns())
    assert hooks.session is session
    session.flush()
    figures = hooks._training.step_figures()
    joules, time_s = session.energy(begins[0], ends[1]).energy_j, 1e-9 * (ends[1] - begins[0])
    least_j = session.energy(begins[1], ends[0]).energy_j
    assert joules is not None and least_j is not None
    # The first step begins and the last one ends while they are told. What is asked later has later readings, too:
    # at the edges, a millisecond of 700 W at most.
    assert least_j - 0.7 < figures["j_per_step"] * 10 < joules + 0.7
    assert figures["j_per_sample"] == pytest.approx(figures["j_per_step"] / 8)
    assert figures["j_per_token"] == pytest.approx(figures["j_per_step"] / 100)
    assert figures["power_w"] == pytest.approx(joules / time_s, rel=0.1)
    assert hooks._training.step_figures() == {}
    hooks.end()


def test_figures_of_steps_are_of_one_training(session: joulemap.Session) -> None:
    hooks = Hooks()
    for _ in range(2):
        hooks.begin()
        assert hooks._training._ledger.take(time.monotonic_ns()) == []
        hooks.step(8)
        time.sleep(0.01)
        hooks.end()


def test_joules_of_all_gpus_are_not_told_by_the_samples_of_one_process(session: joulemap.Session) -> None:
    hooks = Hooks()
    hooks._training.enter(TRAIN, rank=0, processes=2)
    hooks.step(8, 100)
    time.sleep(0.02)
    hooks._training.end_step()
    session.flush()
    assert hooks._training.step_figures().keys() == {"j_per_step", "power_w"}
    hooks.end()


def test_a_phase_inside_another_has_the_time_alone(session: joulemap.Session, spans: Callable[..., list[Span]]) -> None:
    hooks = Hooks()
    hooks.begin()
    training = hooks._training
    hooks.step(4)
    training.enter(VALIDATE)
    training.begin_step(2)
    training.leave(VALIDATE)
    hooks.step(4)
    hooks.end()
    session.flush()
    found = sorted(spans("phase", "epoch", "step"), key=lambda span: span.start_ns)
    train, epoch, step, validate, validate_step, train2, epoch2, step2 = found
    assert [span.name for span in (train, validate, train2)] == ["train", "validate", "train"]
    assert [span.samples for span in (step, validate_step, step2)] == [4, 2, 4]
    assert ended(train) <= validate.start_ns
    assert ended(validate) <= train2.start_ns
    assert ended(epoch) <= ended(train)
    assert train2.start_ns <= epoch2.start_ns


def test_what_fails_warns_once_and_ends_what_is_open(
    session: joulemap.Session, spans: Callable[..., list[Span]]
) -> None:
    hooks = Hooks()
    hooks.begin()
    hooks.step(4)
    with pytest.warns(RuntimeWarning, match="no longer: ValueError: of the measuring side"):
        hooks.break_down()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        hooks.break_down()
        hooks.step(4)
        hooks.end()
    session.flush()
    assert [span.samples for span in spans("step") if ended(span) > 0] == [4]
    assert [span.name for span in spans("phase") if ended(span) > 0] == ["train"]


def test_a_call_that_is_interrupted_leaves_nothing_open(
    session: joulemap.Session, spans: Callable[..., list[Span]]
) -> None:
    hooks = Hooks()
    with pytest.raises(KeyboardInterrupt), entry_point():
        hooks.begin()
        hooks.step(4)
        raise KeyboardInterrupt
    session.flush()
    assert all(ended(span) > 0 for span in spans("phase", "epoch", "step"))
    assert len(spans("phase", "epoch", "step")) == 3
    hooks.begin()  # the next training is measured again
    hooks.end()
    session.flush()
    assert len(spans("phase")) == 2


def test_two_callbacks_do_not_count_a_training_twice(
    session: joulemap.Session, spans: Callable[..., list[Span]]
) -> None:
    first, second = Hooks(), Hooks()
    first.begin()
    with pytest.warns(RuntimeWarning, match="another callback of joulemap"):
        second.begin()
    second.end()
    first.step(4)
    first.end()
    session.flush()
    assert len(spans("phase")) == len(spans("step")) == 1


def test_without_a_gpu_a_training_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOULEMAP_NVML", "/nowhere/libnvidia-ml.so.1")
    monkeypatch.delenv("JOULEMAP_SIM", raising=False)
    hooks = Hooks()
    with pytest.warns(RuntimeWarning, match="NoDeviceError"):
        hooks.begin()
    hooks.step(4)
    hooks.end()
    with pytest.raises(RuntimeError, match="nothing was measured"):
        hooks.report()
    hooks.close()


def test_a_warning_that_is_an_error_leaves_nothing_open(session: joulemap.Session) -> None:
    hooks = Hooks()
    hooks.begin()
    hooks.step(4)
    with warnings.catch_warnings(), pytest.raises(RuntimeWarning, match="of the measuring side"):
        warnings.simplefilter("error")
        hooks.break_down()
    assert hooks._training.depth == 0


def test_a_full_disk_does_not_stop_what_follows_the_training(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JOULEMAP_SIM", "h200")
    path = tmp_path / "run.joulemap"
    most = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        with pytest.warns(RuntimeWarning, match="run.joulemap: disk full"), Hooks(path) as hooks:
            hooks.begin()
            resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size, most[1]))
            for _ in range(2000):
                hooks.step(4)
            hooks.end()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, most)


def test_a_session_of_its_own_stays_for_further_trainings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOULEMAP_SIM", "h200")
    with Hooks() as hooks:
        for _ in range(2):
            hooks.begin()
            hooks.step(4)
            hooks.end()
        assert hooks.session is joulemap.current_session()
        assert hooks.report(phase="train").totals.steps == 2
    assert joulemap.current_session() is None
    assert hooks.report(phase="train").totals.samples == 8


def test_processes_that_are_not_the_first_measure_nothing_by_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOULEMAP_SIM", "h200")
    monkeypatch.delenv("JOULEMAP_RUN", raising=False)
    hooks = Hooks()
    hooks._training.enter(TRAIN, rank=1, processes=2)
    assert joulemap.current_session() is None
    with joulemap.Session() as run:  # that somebody opened does see it
        hooks._training.enter(TRAIN, rank=1, processes=2)
        assert hooks.session is run
        assert not hooks._training.logs
        hooks.end()


def test_a_spawned_process_begins_with_what_the_callback_was_made_with(session: joulemap.Session) -> None:
    hooks = Hooks(path="run.joulemap", overwrite=True, gpu=0, log=False)
    hooks._training.session = session
    copy = pickle.loads(pickle.dumps(hooks))
    assert copy._training.session is None
    assert (copy._training._path, copy._training._gpu, copy._training._log) == ("run.joulemap", 0, False)


@pytest.mark.parametrize(
    ("wrong", "error", "named"),
    [
        ({"path": 3}, TypeError, "path"),
        ({"session": "run"}, TypeError, "session"),
        ({"gpu": "one"}, ValueError, "gpu"),
        ({"log": "yes"}, TypeError, "log"),
        ({"path": "a.joulemap", "session": joulemap.Session()}, ValueError, "exclude each other"),
    ],
)
def test_wrong_arguments_are_named_at_once(wrong: dict[str, object], error: type[Exception], named: str) -> None:
    with pytest.raises(error, match=named):
        Hooks(**wrong)  # type: ignore[arg-type]
