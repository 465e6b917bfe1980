"""`joulemap run`: steps of JAX programs that know nothing of joulemap, on the CPU beside a simulated GPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from found_program import recorded

TRAINING = """
import functools

import jax
import jax.numpy as jnp
from jax import jit


@jax.jit
def init(key):
    return {"w": jax.random.normal(key, (512, 512)), "b": jnp.zeros(512)}


@jit
def augment(x, noise):
    return x + noise


def loss(params, x):
    return jnp.square(jnp.tanh(x @ params["w"] + params["b"])).mean()


@functools.partial(jax.jit, donate_argnums=0)
def train_step(params, x):
    value, grads = jax.value_and_grad(loss)(params, x)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), value


@jax.jit
def evaluate(params, x):
    return loss(params, x)


print(train_step.lower(init(jax.random.key(0)), jnp.ones((512, 512))).compile() is not None)
params = init(jax.random.key(0))
x = jnp.ones((512, 512))
for epoch in range(2):
    for _ in range(15):
        params, value = train_step(params, augment(x, 0.1))
        value.block_until_ready()
    for _ in range(5):
        evaluate(params, x).block_until_ready()
print(float(value) < 1)
"""

INFERENCE = """
import jax
import jax.numpy as jnp


class Model:
    def __init__(self):
        self.w = jnp.ones((16, 16))

    @jax.jit(static_argnums=0)
    def predict(self, x):
        return jnp.tanh(x @ self.w)


model = Model()
for _ in range(20):
    y = model.predict(jnp.ones((4, 16)))
print(y.shape, jax.vmap(model.predict)(jnp.ones((2, 4, 16))).shape, jax.grad(lambda x: model.predict(x).sum())(y).shape)
"""

ACCUMULATION = """
import jax
import jax.numpy as jnp

gradients = jax.jit(jax.grad(lambda w, x: jnp.square(x @ w).mean()))


@jax.jit
def update(w, parts):
    return w - 0.1 * sum(parts)


w, x = jnp.ones((512, 512)), jnp.ones((512, 512))
for _ in range(40):
    w = update(w, [gradients(w, x) for _ in range(3)]).block_until_ready()
"""

ANNOTATED = """
import jax
import jax.numpy as jnp

step = jax.jit(lambda w: w * 2)
w = step(step(jnp.ones(4)))
for number in range(7):
    with jax.profiler.StepTraceAnnotation("train", step_num=number):
        w = step(w)
"""

OWN_SESSION = """
import jax
import jax.numpy as jnp
import joulemap

step = jax.jit(lambda w: w * 2)
w = step(step(step(jnp.ones(4))))
with joulemap.Session() as run:
    for _ in range(5):
        with run.step():
            w = step(w)
"""

HOSTILE = """
import copy
import jax
import jax.numpy as jnp
from jax import tree_util


def broken(*args, **kwargs):
    raise RuntimeError("no")


step = jax.jit(lambda w: w * 2)
print(isinstance(step, jax.stages.Wrapped), copy.copy(step)(1.0), copy.deepcopy(step)(1.0))
real = tree_util.tree_leaves
jax.tree_util.tree_leaves = broken
w = jnp.ones(4)
for _ in range(4):
    w = step(w)
try:
    step("a text")
except TypeError:
    print(float(w[0]))
"""


def steps(report: dict[str, Any]) -> tuple[str, int]:
    return report["step_name"], report["kind_steps"]


def test_a_training_has_a_step_for_each_call_that_takes_the_state_it_returned(tmp_path: Path) -> None:
    report = recorded(tmp_path, TRAINING)
    assert report["stdout"] == "True\nTrue\n"
    # The first call shows nothing yet; the second takes what the first returned.
    assert steps(report) == ("call of train_step", 2 * 15 - 1)
    assert report["steps"] == 2 * 15 - 1 + 2 * 5  # evaluate() has steps of its own; init(), called twice, has none


def test_an_inference_has_a_step_for_each_call_with_the_same_shapes(tmp_path: Path) -> None:
    report = recorded(tmp_path, INFERENCE)
    assert report["stdout"] == "(4, 16) (2, 4, 16) (4, 16)\n"
    assert steps(report) == ("call of predict", 20 - 2)


def test_calls_whose_gradients_are_added_up_are_parts_of_a_step(tmp_path: Path) -> None:
    assert steps(recorded(tmp_path, ACCUMULATION)) == ("call of update", 40 - 1)


@pytest.mark.parametrize(("program", "name", "count"), [(ANNOTATED, "train", 7), (OWN_SESSION, "step", 5)])
def test_steps_that_the_program_marks_win(program: str, name: str, count: int, tmp_path: Path) -> None:
    report = recorded(tmp_path, program)
    assert (report["step_name"] in (name, "StepTraceAnnotation"), report["kind_steps"]) == (True, count)


def test_a_failure_of_ours_never_reaches_the_program(tmp_path: Path) -> None:
    assert recorded(tmp_path, HOSTILE)["stdout"] == "True 2.0 2.0\n16.0\n"
