"""What a JAX program names, as spans, on real JAX on the CPU."""

from __future__ import annotations

import sys
import threading
import types
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import jax.profiler
import joulemap
import joulemap.jax
import pytest
from joulemap import _core
from ring_reader import Span

Spans = Callable[..., list[Span]]


def current() -> tuple[Any, ...]:
    annotation = jax.profiler.TraceAnnotation
    return jax.named_scope, *(vars(annotation).get(name) for name in ("__init__", "__enter__", "__exit__"))


OWN = current()


def paths(found: list[Span]) -> list[str]:
    return ["/".join(span.path()) for span in found]


# These three come before the session of all others.


def test_without_a_session_jax_is_its_own() -> None:
    early = jax.profiler.TraceAnnotation("made before")
    with joulemap.Session(sim="h200", cpu=False):
        assert not set(current()) & set(OWN)
        with early:
            pass
        scoped = jax.named_scope("kept beyond")
        late = jax.profiler.TraceAnnotation("made in it")
    assert current() == OWN
    with scoped, late:
        pass


def test_what_only_bears_the_name_of_jax_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    stranger = types.ModuleType("jax")
    stranger.__spec__ = jax.__spec__
    monkeypatch.setitem(sys.modules, "jax", stranger)
    monkeypatch.delitem(sys.modules, "joulemap._jax_annotations")
    with joulemap.Session(sim="h200", cpu=False) as run, run.phase("goes on"):
        assert not hasattr(stranger, "named_scope")


def test_a_jax_that_cannot_be_followed_stops_nothing_and_is_left_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jax.profiler, "TraceAnnotation", int)  # to which nothing can be put
    monkeypatch.delitem(sys.modules, "joulemap._jax_annotations")
    with joulemap.Session(sim="h200", cpu=False) as run, run.step():
        assert jax.named_scope is OWN[0]


def test_annotated_steps_are_steps_where_none_are_told() -> None:
    def train() -> None:
        for i in range(3):
            with jax.profiler.StepTraceAnnotation("train", step_num=i):
                jnp.ones(2).sum()

    with joulemap.Session(sim="h200", cpu=False) as found:
        train()
    assert found.report().totals.steps == 3
    assert found.report().totals.steps_found == "StepTraceAnnotation"
    with joulemap.Session(sim="h200", cpu=False, steps=False) as named:
        train()
    assert named.report().totals.steps is None
    assert [(span.kind, span.name) for span in named.timeline().spans] == [("nvtx", "train")] * 3
    with joulemap.Session(sim="h200", cpu=False) as told:
        with told.step():
            pass
        train()
    assert told.report().totals.steps == 1


def test_eager_scopes_and_annotations_are_ranges(watching: joulemap.Session, spans: Spans) -> None:
    @jax.named_scope("decorated")
    def doubled(x: Any) -> Any:
        return 2 * x

    @jax.profiler.annotate_function
    def annotated(x: Any) -> Any:
        return doubled(x)

    with jax.named_scope("outer"):
        with jax.profiler.TraceAnnotation("inner", number=3):
            annotated(jnp.ones(2))
        doubled(jnp.ones(2))
    name = annotated.__qualname__
    assert paths(spans("nvtx")) == [
        "outer",
        "outer/inner",
        f"outer/inner/{name}",
        f"outer/inner/{name}/decorated",
        "outer/decorated",
    ]
    assert all(span.end_ns is not None for span in spans())


def test_scopes_that_fail_and_recursive_ones_end(watching: joulemap.Session, spans: Spans) -> None:
    with pytest.raises(KeyboardInterrupt), jax.named_scope("fails"), jax.profiler.TraceAnnotation("fails too"):
        raise KeyboardInterrupt
    scope = jax.named_scope("again")
    with scope, scope:
        pass
    assert paths(spans("nvtx")) == ["fails", "fails/fails too", "again", "again/again"]
    assert all(span.end_ns is not None for span in spans())


def test_each_thread_has_scopes_of_its_own(watching: joulemap.Session, spans: Spans) -> None:
    def work() -> None:
        with jax.named_scope("work"):
            both.wait()

    both = threading.Barrier(2)
    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert paths(spans("nvtx")) == ["work", "work"]


def test_scopes_in_compiled_functions_name_operations_and_are_no_spans(
    watching: joulemap.Session, spans: Spans
) -> None:
    @jax.jit
    def compiled(x: Any) -> Any:
        with jax.named_scope("inside"), jax.profiler.TraceAnnotation("while it is traced"):
            return jnp.sin(x)

    assert float(jax.grad(lambda x: compiled(x).sum())(jnp.zeros(2))[0]) == 1
    assert "jit(compiled)/inside/sin" in str(compiled.lower(jnp.ones(2)).compile().as_text())
    assert spans("nvtx") == []


def test_a_watched_function_is_a_layer(watching: joulemap.Session, spans: Spans) -> None:
    @joulemap.jax.watch
    @jax.jit
    def double(x: Any) -> Any:
        return 2 * x

    with watching.window("calls") as window:
        assert double(jnp.ones(2)).tolist() == [2, 2]
        assert float(jax.grad(double)(1.0)) == 2  # traced: a part of what is compiled
        double(jnp.ones(2))
    assert [(span.kind, span.name, span.type) for span in spans("function")] == [("function", "double", "double")] * 2
    row = next(row for row in window.report() if row.path == "double")
    assert (row.kind, row.calls) == ("layer", 2)
    assert double.lower(jnp.ones(2)).compile() is not None
    with pytest.raises(TypeError):
        double()
    assert all(span.end_ns is not None for span in spans())
    with pytest.raises(TypeError, match="takes a function"):
        joulemap.jax.watch(3)  # type: ignore[arg-type]


def test_a_watched_method_is_one(watching: joulemap.Session, spans: Spans) -> None:
    class Model:
        @joulemap.jax.watch
        def apply(self, x: Any) -> Any:
            return x, self

    model = Model()
    assert model.apply(3) == (3, model)
    assert joulemap.jax.watch(model.apply, "named")(4) == (4, model)
    assert paths(spans("function")) == ["apply", "named", "named/apply"]


def test_a_measure_waits_for_arrays_at_both_ends(watching: joulemap.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[str] = []
    array = types.SimpleNamespace(block_until_ready=lambda: waits.append("array"))
    jnp.ones(1).block_until_ready()  # JAX has a device since
    monkeypatch.setattr(jax, "live_arrays", lambda: [array])
    with joulemap.measure() as measured:
        assert waits == ["array"]
    assert waits == ["array"] * 2
    assert measured.seconds > 0


def test_what_xla_tells_of_a_watched_function_is_no_other_call(watching: joulemap.Session) -> None:
    def span(kind: str, name: str) -> Any:
        return _core.Span(_core.SPAN_KINDS[kind], name)

    with watching.window("calls") as window:
        for _ in range(2):
            with span("function", "step"), span("function", "step"):  # ours around XLA's
                with span("forward", "step"):
                    pass
                with span("forward", "step.attn"):
                    pass
                with span("backward", "step.attn"):
                    pass
    rows = {row.path: row for row in window.report()}
    assert (rows["step"].calls, rows["step.attn"].calls) == (2, 2)
