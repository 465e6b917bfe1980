"""Two programs that differ in one layer: the difference that joulemap finds, against the layers alone.

The GPT of the examples is trained several times, each time recorded with counters; in the later ones a middle block has
another layer in place of one: an MLP of other width, an attention of fewer heads. The difference of energy of that
layer's call between two reports stands beside the difference of the two layers alone, in bursts; and what the reports
say of the change of the same layer in another block, which is none.

    joulemap calibrate && python bench/gpu/one_layer.py --out bench/results/one_layer.txt
"""

from __future__ import annotations

import argparse
import math
import random
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import joulemap
import torch
from bursts import ready, truth
from joulemap._burst import player_of
from joulemap._isolation.layer_inputs import record_inputs
from joulemap._isolation.measure import Board, measure
from layers_alone import Figure, live
from publish import head, publish
from subjects import Subject, make
from torch import nn

BLOCK = "blocks.6"
OTHER = "blocks.4"


def wider(model: nn.Module) -> nn.Module:
    from gpt_train import GPT2_SMALL, MLP

    layer = MLP(GPT2_SMALL)
    layer.fc = nn.Linear(GPT2_SMALL.width, 6 * GPT2_SMALL.width)
    layer.proj = nn.Linear(6 * GPT2_SMALL.width, GPT2_SMALL.width)
    return layer


def narrower(model: nn.Module) -> nn.Module:
    from gpt_train import GPT2_SMALL, MLP

    layer = MLP(GPT2_SMALL)
    layer.fc = nn.Linear(GPT2_SMALL.width, 3 * GPT2_SMALL.width)
    layer.proj = nn.Linear(3 * GPT2_SMALL.width, GPT2_SMALL.width)
    return layer


def fewer_heads(model: nn.Module) -> nn.Module:
    from gpt_train import GPT2_SMALL, Attention

    return Attention(replace(GPT2_SMALL, heads=6))


CHANGES: dict[str, tuple[str, Callable[[nn.Module], nn.Module]]] = {
    "MLP half as wide again": ("mlp", wider),
    "MLP a quarter narrower": ("mlp", narrower),
    "6 heads of 128 for 12 of 64": ("attn", fewer_heads),
}


def train(
    subject: Subject, paths: list[str], seconds: float, folder: str
) -> tuple[dict[str, Figure], dict[str, Figure]]:
    for _ in range(3):
        subject.step()
    torch.cuda.synchronize()
    with joulemap.Session(path=str(Path(folder) / "one.joulemap"), overwrite=True, kernels=True, counters=60) as run:
        watch = run.watch(subject.model)
        warm_s = time.monotonic() + 2.0
        while time.monotonic() < warm_s:
            subject.step()
        torch.cuda.synchronize()
        begin_ns = time.monotonic_ns()
        while time.monotonic_ns() - begin_ns < seconds * 1e9:
            subject.step()
            torch.cuda.synchronize()
        end_ns = time.monotonic_ns()
        watch.remove()
        window = {"by": "span", "from_ns": begin_ns, "to_ns": end_ns}
        report, ring = run.report(**window), run.report(**window, model="none")
        mhz = report.quality.clock_mhz
    return {path: live(path, report, mhz)[0] for path in paths}, {path: live(path, ring, mhz)[0] for path in paths}


def alone(subjects: list[Subject], paths: list[str], window_s: float) -> list[dict[str, Figure]]:
    """Both programs' layers in one series, in random order: what drifts meets both."""
    player = player_of(torch.device("cuda"))
    quantities = []
    with joulemap.Session(kernels=False, counters=False) as run:
        board = Board(run, player.device)
        for subject in subjects:
            with player.stream():
                taken = record_inputs(subject.model, paths, subject.forward, "cuda", backward=False)
            made = {path: ready(player, given) for path, given in taken.items()}
            failed = {path: why for path, why in made.items() if isinstance(why, str)}
            if failed:
                raise SystemExit(f"no graph holds {failed}")
            quantities.append(made)
        flat = [one for made in quantities for one in made.values() if not isinstance(one, str)]
        measure(player, board, flat, window_s=window_s, chance=random.Random(0))
    return [{path: truth(one)[0] for path, one in made.items() if not isinstance(one, str)} for made in quantities]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10.0, help="of each training")
    parser.add_argument("--window", type=float, default=1.0, help="seconds of bursts at each setting")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--out", type=Path, help="append the figures to this file")
    args = parser.parse_args()
    torch.manual_seed(0)
    folder = tempfile.TemporaryDirectory()
    lines = [
        *head("one layer"),
        f"{'change':30} {'layer':14} {'alone: before':>13} {'after':>8} {'difference':>16} {'live: before':>13} "
        f"{'after':>8} {'difference':>10} {'off by':>8} {'ring':>8}",
    ]
    paths = [f"{BLOCK}.mlp", f"{BLOCK}.attn", f"{OTHER}.mlp", f"{OTHER}.attn"]
    first = make("gpt", args.batch, 1024, {})
    before_live, before_ring = train(first, paths, args.seconds, folder.name)
    changed = []
    for name, (which, make_layer) in CHANGES.items():
        torch.manual_seed(0)
        subject = make("gpt", args.batch, 1024, {})
        block = subject.model.get_submodule(BLOCK)
        setattr(block, which, make_layer(subject.model).apply(subject.model.initialise).to("cuda"))
        subject.optimizer = torch.optim.AdamW(subject.model.parameters(), lr=3e-4, fused=True)
        changed.append((name, which, subject, *train(subject, paths, args.seconds, folder.name)))
    figures = alone([first, *(one[2] for one in changed)], paths[:2], args.window)
    for (name, which, _, after_live, after_ring), after in zip(changed, figures[1:], strict=True):
        path, same = f"{BLOCK}.{which}", f"{OTHER}.{which}"
        a, b = figures[0][path], after[path]
        true_j = b.energy_j - a.energy_j
        found_j = after_live[path].energy_j - before_live[path].energy_j
        ring_j = after_ring[path].energy_j - before_ring[path].energy_j
        rest = after_live[same].energy_j / before_live[same].energy_j - 1
        lines.append(
            f"{name:30} {path:14} {1e3 * a.energy_j:13.2f} {1e3 * b.energy_j:8.2f} {1e3 * true_j:+8.2f} "
            f"±{1e3 * math.hypot(a.half_j, b.half_j):.2f} mJ {1e3 * before_live[path].energy_j:13.2f} "
            f"{1e3 * after_live[path].energy_j:8.2f} {1e3 * found_j:+10.2f} {100 * (found_j / true_j - 1):+6.1f} % "
            f"{100 * (ring_j / true_j - 1):+6.1f} %   ({same}, unchanged: {100 * rest:+.1f} %)"
        )
    publish(lines, args.out)


if __name__ == "__main__":
    main()
