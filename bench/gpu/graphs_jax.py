"""What XLA puts into CUDA graphs, by named scope: the same JAX training with its graphs and without them.

XLA names each command while it records it into a graph, so scopes should have the joules that they have without graphs:
to reach are 97 % of the kernels' time in functions and scopes, and 5 % in each scope.

    python bench/gpu/graphs_jax.py --out bench/results/graphs_jax.txt
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import joulemap
from publish import head, publish

BESIDE = ("phase", "epoch", "step", "window", "batch")
NOWHERE = ("outside", "unresolved", "idle", "sampling")
LEAST_SHARE = 0.01
WITHOUT = "--xla_gpu_enable_command_buffer="


def play(seconds: float) -> None:
    """Train an MLP and a block of attention, a step a call."""
    import jax
    from jax import numpy as np

    def block(weights: dict[str, jax.Array], x: jax.Array) -> jax.Array:
        with jax.named_scope("attn"):
            q, k, v = (x @ weights[name] for name in "qkv")
            x = x + jax.nn.softmax(q @ k.swapaxes(-1, -2) / q.shape[-1] ** 0.5) @ v
        with jax.named_scope("mlp"):
            return x + jax.nn.gelu(x @ weights["up"]) @ weights["down"]

    def loss(weights: list[dict[str, jax.Array]], x: jax.Array) -> jax.Array:
        for i, layer in enumerate(weights):
            with jax.named_scope(f"block{i}"):
                x = block(layer, x)
        return (x.astype(np.float32) ** 2).mean()

    @jax.jit
    def train_step(weights: list[dict[str, jax.Array]], x: jax.Array) -> list[dict[str, jax.Array]]:
        gradients = jax.grad(loss)(weights, x)
        with jax.named_scope("update"):
            return jax.tree.map(lambda w, g: w - 1e-4 * g.astype(w.dtype), weights, gradients)

    width, key = 1024, jax.random.key(0)
    shapes = {"q": (width, width), "k": (width, width), "v": (width, width)}
    shapes |= {"up": (width, 4 * width), "down": (4 * width, width)}
    weights = [
        {name: 0.02 * jax.random.normal(key, shape, np.bfloat16) for name, shape in shapes.items()} for _ in range(4)
    ]
    x = jax.random.normal(key, (8, 512, width), np.bfloat16)
    for _ in range(5):
        weights = train_step(weights, x)
    jax.block_until_ready(weights)
    begin, done = time.monotonic(), 0
    while time.monotonic() - begin < seconds:
        for _ in range(20):
            weights = train_step(weights, x)
        jax.block_until_ready(weights)
        done += 20
    print(done)


def recorded(flags: str, seconds: float, file: Path) -> int:
    """Record one run; its steps."""
    environment = {**os.environ, "XLA_FLAGS": f"{os.environ.get('XLA_FLAGS', '')} {flags}".strip()}
    command = ["joulemap", "record", "--force", "-o", str(file), "--", sys.executable, __file__, "--play", str(seconds)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed with {done.returncode}:\n{done.stderr}")
    return int(done.stdout.split()[0])


def told(name: str, steps: int, report: joulemap.types.Report) -> tuple[list[str], dict[str, float]]:
    """Return lines of a run, and the joules a step of each row without its children."""
    rows = report.rows
    outer = [row for row in rows if row.depth == 0 and row.kind not in ("idle", "sampling")]
    every = sum(row.busy_s for row in outer) or 1.0
    inside = sum(row.busy_s for row in outer if row.kind not in BESIDE + NOWHERE)
    lines = [f"{name}: {steps} steps, {100 * inside / every:.1f} % of the kernels' time in functions and scopes"]
    lines += [f"  {note}" for note in report.notes if "graph" in note.lower()]
    by_path: dict[str, float] = {}
    for row in rows:
        idle = row.path.startswith("(idle)")
        if row.kind not in BESIDE + NOWHERE and not idle and row.energy_self_j is not None:
            by_path[row.path] = by_path.get(row.path, 0.0) + row.energy_self_j / steps
    return lines, by_path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--play", type=float, help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, help="append to this file")
    args = parser.parse_args()
    if importlib.util.find_spec("jax") is None:
        print("graphs_jax.py: there is no JAX here")
        return
    if args.play:
        play(args.play)
        return
    lines, joules = head("XLA's CUDA graphs by scope"), []
    with tempfile.TemporaryDirectory() as folder:
        for name, flags in (("without graphs", WITHOUT), ("with graphs", "")):
            file = Path(folder) / "run.joulemap"
            steps = recorded(flags, args.seconds, file)
            with joulemap.Recording(file) as recording:
                more, by_path = told(name, steps, recording.report(by="layer"))
            lines += more
            joules.append(by_path)
    plain, graphs = joules
    every = sum(plain.values()) or 1.0
    for path in sorted(plain, key=lambda path: -plain[path]):
        if plain[path] < LEAST_SHARE * every:
            continue
        off = graphs.get(path, 0.0) / plain[path] - 1
        lines.append(f"  {path:40s} {plain[path]:10.5f} J {graphs.get(path, 0.0):10.5f} J {100 * off:+7.1f} %")
    publish(lines, args.out)


if __name__ == "__main__":
    main()
