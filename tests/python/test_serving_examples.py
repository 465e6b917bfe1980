"""The servers among the examples: they answer what the model says, and their requests' joules add up."""

from __future__ import annotations

import sys
from pathlib import Path

import joulemap
import pytest
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))

import serve_batched
import speculative

CONFIG = serve_batched.Config(width=32, layers=2, heads=4, kv_heads=2, inner=64, vocabulary=50)


@pytest.fixture(scope="module")
def model() -> serve_batched.Model:
    torch.manual_seed(0)
    return serve_batched.Model(CONFIG).double().eval()


def prompt(number: int, length: int) -> list[int]:
    return [(7 * number + 3 * i * i) % CONFIG.vocabulary for i in range(length)]


@torch.inference_mode()
def alone(model: serve_batched.Model, tokens: list[int], count: int) -> list[int]:
    """What follows, all of it fed for each token, in one sequence."""
    said = list(tokens)
    for _ in range(count):
        cache = serve_batched.PagedCache(CONFIG, 1 + len(said) // 16, dtype=torch.float64)
        slots = cache.slots([list(range(len(cache.free)))], len(said))
        logits = model(torch.tensor([said]), torch.arange(len(said))[None], cache, slots)
        said.append(int(logits[0, -1].argmax()))
    return said


@pytest.mark.parametrize(("pages", "preempts"), [(40, False), (8, True)])
def test_a_batch_answers_what_each_would_be_answered_alone(
    session: joulemap.Session, model: serve_batched.Model, pages: int, preempts: bool
) -> None:
    cache = serve_batched.PagedCache(CONFIG, pages, dtype=torch.float64)
    engine = serve_batched.Engine(session, model, cache, most=3)
    asked = {name: (prompt(i, 9 + 5 * i), 12 + 4 * i) for i, name in enumerate("abcde")}
    answers = {}
    for name, (tokens, count) in asked.items():
        engine.add(name, tokens, count)
    while engine.waiting or engine.running:
        answers.update({each.request.id: each.tokens for each in engine.step()})
    assert answers == {name: alone(model, tokens, count) for name, (tokens, count) in asked.items()}
    assert (engine.preempted > 0) == preempts
    assert sorted(cache.free) == list(range(pages))

    report = session.report("request")
    totals, costs = report.totals, {each.id: each for each in report.requests()}
    assert sorted(costs) == sorted(asked)
    assert totals.steps == engine.steps
    if not preempts:  # the first token comes out of the prefill
        assert {name: (each.prefill_tokens, each.decode_tokens) for name, each in costs.items()} == {
            name: (len(tokens), count - 1) for name, (tokens, count) in asked.items()
        }
        assert totals.tokens == sum(len(tokens) + count - 1 for tokens, count in asked.values())
    assert totals.total_energy_j is not None
    requests_j = sum(each.energy_j or 0 for each in costs.values())
    rest_j = sum(row.energy_j or 0 for row in report if row.depth == 0 and row.kind != "request")
    assert requests_j > 0
    assert requests_j + rest_j == pytest.approx(totals.total_energy_j, rel=1e-9)


def test_a_request_that_no_cache_could_hold_is_refused(session: joulemap.Session, model: serve_batched.Model) -> None:
    engine = serve_batched.Engine(session, model, serve_batched.PagedCache(CONFIG, 1, dtype=torch.float64))
    engine.add("long", prompt(1, 30), 5)
    with pytest.raises(RuntimeError, match="too few pages for long"):
        engine.step()


@pytest.mark.parametrize("weaken", [0.0, 0.3, 1.0])
def test_speculation_says_what_the_model_says(session: joulemap.Session, weaken: float) -> None:
    torch.manual_seed(1)
    model = serve_batched.Model(CONFIG).double().eval()
    draft = speculative.draft_of(model, 1, weaken)
    target, guesser = (speculative.Speaker(each, CONFIG, 64, "cpu") for each in (model, draft))
    greedy, tokens = speculative.Speaker(model, CONFIG, 64, "cpu"), prompt(2, 10)
    with torch.inference_mode():
        while len(tokens) < 36:
            tokens.append(greedy.say(tokens)[-1])
    with joulemap.request("one", tokens=10) as request:
        said, asked = speculative.generate(session, target, guesser, request, prompt(2, 10), 20, k=3)
    assert len(said) >= 20
    assert said == tokens[10 : 10 + len(said)]
    if weaken == 0:  # the draft is all that the model has to say
        assert asked == 5
    assert asked >= 5
    (cost,) = session.report("request").requests()
    assert (cost.steps, cost.prefill_tokens, cost.decode_tokens) == (1 + asked, 10, len(said) - 1)
    rows = {row.path: row.calls for row in session.report("phase")}
    assert rows["decode/step/draft"] == rows["decode/step/check"] == asked
