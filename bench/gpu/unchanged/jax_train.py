"""A multilayer perceptron in plain JAX."""

import sys
import time

import jax
import jax.numpy as jnp

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 400
sizes = [4096, 8192, 8192, 4096]
keys = jax.random.split(jax.random.PRNGKey(0), len(sizes))
params = [
    jax.random.normal(k, (m, n), jnp.bfloat16) / m**0.5 for k, m, n in zip(keys, sizes[:-1], sizes[1:], strict=False)
]


def loss(params, x):
    for i, w in enumerate(params):
        with jax.named_scope(f"layer{i}"):
            x = jax.nn.gelu(x @ w)
    return (x.astype(jnp.float32) ** 2).mean()


@jax.jit
def train_step(params, x):
    value, gradients = jax.value_and_grad(loss)(params, x)
    return value, [w - 1e-3 * g for w, g in zip(params, gradients, strict=True)]


x = jax.random.normal(keys[-1], (8192, 4096), jnp.bfloat16)
times = []
for _ in range(STEPS):
    begin = time.perf_counter()
    value, params = train_step(params, x)
    value.block_until_ready()
    times.append(time.perf_counter() - begin)
print(f"median step {1e3 * sorted(times[5:])[len(times[5:]) // 2]:.3f} ms")
