"""Prefill and decode of Hugging Face's generate, found by themselves, with their tokens."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import joulemap
import pytest
import torch
from ring_reader import Span

transformers: Any = pytest.importorskip("transformers")

Spans = Callable[..., list[Span]]
NEW = 5  # tokens


@pytest.fixture(scope="module")
def model() -> Any:
    config = transformers.LlamaConfig(
        vocab_size=100, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2, pad_token_id=0
    )
    torch.manual_seed(0)
    return transformers.LlamaForCausalLM(config).eval()


def prompt(sequences: int = 2, length: int = 7) -> torch.Tensor:
    return torch.arange(1, sequences * length + 1).reshape(sequences, length)


def generate(model: Any, ids: torch.Tensor, **more: Any) -> Any:
    new = {"max_new_tokens": NEW, "min_new_tokens": NEW, "do_sample": False} | more
    return model.generate(ids, **({"attention_mask": torch.ones_like(ids)} | new))


def parts(spans: Spans) -> list[tuple[str, list[int]]]:
    """Phases in their order, with the tokens of each pass in them."""
    passes = spans("batch")
    return [
        (p.name, [b.tokens for b in passes if p.start_ns <= b.start_ns and b.ended_ns <= p.ended_ns])
        for p in spans("phase")
        if p.name in ("prefill", "decode")
    ]


def test_prefill_and_decode_are_phases_with_their_tokens(session: joulemap.Session, model: Any) -> None:
    session.watch(model)
    with session.phase("serve"):
        for _ in range(3):
            generate(model, prompt())
    report = session.report("phase")
    rows = {row.path: row for row in report}
    assert (rows["serve/prefill"].tokens, rows["serve/decode"].tokens) == (3 * 14, 3 * 2 * (NEW - 1))
    assert (rows["serve/prefill"].calls, rows["serve/decode"].calls) == (3, 3)
    assert report.totals.steps_found == "forward pass of generate"
    assert (report.totals.steps, report.totals.samples) == (3 * NEW, 3 * 2)
    decode = session.report(phase="decode")
    assert (decode.totals.steps, decode.totals.tokens) == (3 * (NEW - 1), 3 * 2 * (NEW - 1))
    assert f"a token ({3 * 2 * (NEW - 1)})" in decode.table()
    assert rows["serve/prefill"].energy_j is not None


def test_padding_is_no_token_of_a_prompt(session: joulemap.Session, model: Any, spans: Spans) -> None:
    session.watch(model)
    mask = torch.ones(2, 7, dtype=torch.long)
    mask[0, :3] = 0
    generate(model, prompt(), attention_mask=mask)
    assert parts(spans) == [("prefill", [11]), ("decode", [2] * (NEW - 1))]


@pytest.mark.parametrize(
    ("more", "prefill", "decode"),
    [
        ({"num_beams": 3}, 3 * 14, [6] * (NEW - 1)),  # each beam is fed
        ({"num_return_sequences": 2, "do_sample": True}, 2 * 14, [4] * (NEW - 1)),
        ({"use_cache": False}, 14, [2] * (NEW - 1)),  # the new ones, though all are fed again
        ({"prefill_chunk_size": 3}, 14, [2] * (NEW - 1)),
        ({"cache_implementation": "static"}, 14, [2] * (NEW - 1)),
    ],
)
def test_each_way_of_generating_tells_what_its_passes_are_fed(
    session: joulemap.Session, model: Any, spans: Spans, more: dict[str, Any], prefill: int, decode: list[int]
) -> None:
    session.watch(model)
    generate(model, prompt(), **more)
    assert parts(spans) == [("prefill", [prefill]), ("decode", decode)]


def test_a_compiled_decode_with_a_static_cache_is_seen_as_any_other(
    session: joulemap.Session, model: Any, spans: Spans
) -> None:
    """What transformers does by itself on a GPU: forward passes of the decode are a compiled function's."""
    ways = []

    def backend(graph: Any, _: Any) -> Any:
        ways.append(graph)
        return graph.forward

    compiled = transformers.generation.configuration_utils.CompileConfig(backend=backend, mode=None, fullgraph=False)
    compiled._compile_all_devices = True
    session.watch(model)
    answers = [
        generate(model, prompt(), cache_implementation="static", **more) for more in ({}, {"compile_config": compiled})
    ]
    assert ways
    assert torch.equal(*answers)
    assert parts(spans) == 2 * [("prefill", [14]), ("decode", [2] * (NEW - 1))]
    rows = {row.path: row for row in session.report("phase")}
    assert (rows["prefill"].tokens, rows["decode"].tokens) == (2 * 14, 2 * 2 * (NEW - 1))


def test_a_forward_that_the_program_has_compiled_is_followed(
    session: joulemap.Session, model: Any, spans: Spans, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.watch(model)
    monkeypatch.setattr(model, "forward", torch.compile(model.forward, backend="eager"))
    generate(model, prompt(), cache_implementation="static")
    assert parts(spans) == [("prefill", [14]), ("decode", [2] * (NEW - 1))]


def test_an_assistant_is_a_part_of_the_passes_it_helps(session: joulemap.Session, model: Any, spans: Spans) -> None:
    session.watch(model)
    generate(model, prompt(1), assistant_model=model)
    (first, prefill), (second, decode) = parts(spans)
    assert (first, second) == ("prefill", "decode")
    assert prefill[0] >= 7  # and what the assistant proposed
    assert len(prefill) == 1
    assert len(decode) < NEW - 1  # it proposes what the model itself would say


def test_tokens_are_found_where_steps_are_told(session: joulemap.Session, model: Any) -> None:
    session.watch(model)
    with session.step(name="request"):
        generate(model, prompt())
    totals = session.report().totals
    assert (totals.steps, totals.tokens, totals.steps_found) == (1, 14 + 2 * (NEW - 1), None)


def test_one_token_has_no_decode_and_a_failure_leaves_nothing_open(
    session: joulemap.Session, model: Any, spans: Spans
) -> None:
    session.watch(model)
    generate(model, prompt(), max_new_tokens=1, min_new_tokens=1)
    assert parts(spans) == [("prefill", [14])]
    with pytest.raises(ValueError, match="max_new_tokens"):
        generate(model, prompt(), max_new_tokens=-1)
    assert all(span.ended_ns > 0 for span in spans("phase", "batch"))
    assert "prepare_inputs_for_generation" not in vars(model)


def test_calls_at_the_same_time_are_not_told_apart(session: joulemap.Session, model: Any, spans: Spans) -> None:
    """The joules of a moment are all of theirs: the first one has phases, the other is within them."""
    session.watch(model)
    inside, done = threading.Event(), threading.Event()

    class Waits(transformers.LogitsProcessor):  # type: ignore[misc]
        def __call__(self, ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
            inside.set()
            done.wait(60)
            return scores

    first = threading.Thread(target=generate, args=(model, prompt()), kwargs={"logits_processor": [Waits()]})
    first.start()
    inside.wait(60)
    generate(model, prompt(3))
    done.set()
    first.join()
    assert parts(spans) == [("prefill", [14]), ("decode", [2] * (NEW - 1))]


def test_an_encoder_tells_nothing_of_its_prompts_tokens(session: joulemap.Session, spans: Spans) -> None:
    config = transformers.T5Config(
        vocab_size=100, d_model=32, d_kv=16, d_ff=64, num_layers=1, num_heads=2, decoder_start_token_id=0
    )
    t5 = transformers.T5ForConditionalGeneration(config).eval()
    session.watch(t5)
    generate(t5, prompt())
    assert parts(spans) == [("prefill", [0]), ("decode", [2] * (NEW - 1))]


def test_generate_is_what_it_was_once_the_watch_ends(model: Any) -> None:
    mixin = transformers.GenerationMixin
    before = vars(mixin)["generate"]
    with joulemap.Session(sim="h200", cpu=False) as run:
        handle = run.watch(model)
        assert vars(mixin)["generate"] is not before
        handle.remove()
        assert vars(mixin)["generate"] is before
        generate(model, prompt())
        assert run.report().totals.steps is None
    with joulemap.Session(sim="h200", cpu=False, steps=False) as run:
        run.watch(model)
        assert vars(mixin)["generate"] is before


def test_what_is_generated_is_the_same(model: Any) -> None:
    before = generate(model, prompt())
    with joulemap.Session(sim="h200", cpu=False) as run:
        run.watch(model)
        assert torch.equal(generate(model, prompt()), before)
