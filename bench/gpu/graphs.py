"""CUDA graphs: do the kernels of replays go to the layers that were captured, with the joules that eager gives them?

Each subject plays the same work in phases by turns, as it is ("eager") and from CUDA graphs ("graphs"). For each it
prints which share of the kernels' time is in a layer or an optimizer, and which in a phase or step beside them, and how
far each layer's joules a step are from those of eager: to reach are 97 % and 5 %.

Without a GPU, with --sim h200, "graphs" is eager once more: that tries the script, and its figures are none.

    python bench/gpu/graphs.py --out bench/results/graphs.txt
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joulemap
import torch
from publish import head, publish
from torch import Tensor, nn
from torch.nn import functional

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))
from gpt_train import GPT, Shape
from resnet_infer import ResNet

CUDA = torch.cuda.is_available()
DEVICE = torch.device("cuda" if CUDA else "cpu")
DTYPE = torch.bfloat16 if CUDA else torch.float32
BESIDE = ("phase", "epoch", "step", "window", "batch")  # kinds of rows that are named and are no layer
NOWHERE = ("outside", "unresolved", "idle", "sampling")
LEAST_SHARE = 0.01  # rows with less of the energy are not compared one by one


@dataclass
class Subject:
    """What is played: one step as it is, and the same from graphs."""

    name: str
    modules: dict[str, nn.Module]
    eager: Callable[[], Any]
    capture: Callable[[], Callable[[], Any]]


def captured(step: Callable[[], Any]) -> Callable[[], Any]:
    """Return the step as one graph, made by hand."""
    if not CUDA:
        return step
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def resnet() -> Subject:
    """A ResNet-50 at inference, in a graph made by hand."""
    batch, size = (64, 224) if CUDA else (2, 64)
    model = ResNet().eval().to(DEVICE, DTYPE, memory_format=torch.channels_last)  # type: ignore[call-overload]
    images = torch.randn(batch, 3, size, size, device=DEVICE, dtype=DTYPE).contiguous(memory_format=torch.channels_last)

    @torch.no_grad()
    def step() -> None:
        model(images)

    return Subject("ResNet-50, inference", {"resnet": model}, step, lambda: captured(step))


def small_gpt(length: int) -> tuple[GPT, Shape]:
    shape = Shape(12, 768, 12, 50304) if CUDA else Shape(2, 64, 2, 512)
    return GPT(shape, length).to(DEVICE), shape


def training() -> Subject:
    """A whole training step in a graph made by hand: forward, backward and optimizer."""
    batch, length = (8, 512) if CUDA else (2, 16)
    model, shape = small_gpt(length)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=CUDA, capturable=CUDA)
    tokens = torch.randint(shape.vocabulary, (batch, length + 1), device=DEVICE)

    def step() -> None:
        optimizer.zero_grad(set_to_none=False)
        with torch.autocast(DEVICE.type, torch.bfloat16, enabled=CUDA, cache_enabled=False):
            logits = model(tokens[:, :-1])
        functional.cross_entropy(logits.flatten(0, 1).float(), tokens[:, 1:].flatten()).backward()
        optimizer.step()

    return Subject("GPT-2 small, training step in a graph", {"gpt": model}, step, lambda: captured(step))


def callables() -> Subject:
    """Training with forward and backward by `make_graphed_callables`; the optimizer as it is."""
    batch, length = (8, 512) if CUDA else (2, 16)
    model, shape = small_gpt(length)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=CUDA)
    tokens = torch.randint(shape.vocabulary, (batch, length + 1), device=DEVICE)

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        logits = model(tokens[:, :-1])
        functional.cross_entropy(logits.flatten(0, 1).float(), tokens[:, 1:].flatten()).backward()
        optimizer.step()

    def capture() -> Callable[[], Any]:
        if CUDA:
            torch.cuda.make_graphed_callables(model, (tokens[:, :-1].clone(),))
        return step

    return Subject("GPT-2 small, make_graphed_callables", {"gpt": model}, step, capture)


class CachedAttention(nn.Module):
    """Attention of one token to all before it, whose keys and values lie in a cache of fixed size."""

    cache: Tensor

    def __init__(self, width: int, heads: int, batch: int, length: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)
        self.register_buffer("cache", torch.zeros(2, batch, heads, length, width // heads))

    def forward(self, x: Tensor, place: Tensor) -> Tensor:
        batch, width = x.shape
        q, k, v = self.qkv(x).view(batch, 3, self.heads, 1, width // self.heads).unbind(1)
        self.cache[0].index_copy_(2, place, k)
        self.cache[1].index_copy_(2, place, v)
        seen = (torch.arange(self.cache.shape[3], device=x.device) <= place)[None]
        mixed = functional.scaled_dot_product_attention(q, self.cache[0], self.cache[1], attn_mask=seen)
        out: Tensor = self.proj(mixed.reshape(batch, width))
        return out


class DecoderBlock(nn.Module):
    def __init__(self, width: int, heads: int, batch: int, length: int) -> None:
        super().__init__()
        self.ln_1 = nn.LayerNorm(width)
        self.attn = CachedAttention(width, heads, batch, length)
        self.ln_2 = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x: Tensor, place: Tensor) -> Tensor:
        x = x + self.attn(self.ln_1(x), place)
        out: Tensor = x + self.down(functional.gelu(self.up(self.ln_2(x))))
        return out


class Decoder(nn.Module):
    def __init__(self, blocks: int, width: int, heads: int, batch: int, length: int, vocabulary: int) -> None:
        super().__init__()
        self.wte = nn.Embedding(vocabulary, width)
        self.blocks = nn.ModuleList(DecoderBlock(width, heads, batch, length) for _ in range(blocks))
        self.ln_f = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, token: Tensor, place: Tensor) -> Tensor:
        x = self.wte(token)
        for block in self.blocks:
            x = block(x, place)
        logits: Tensor = self.head(self.ln_f(x))
        return logits


def decode() -> Subject:
    """One token after the other, with a cache of fixed size, in a graph made by hand."""
    length = 1024 if CUDA else 16
    shape = (24, 2048, 16, 8, length, 50304) if CUDA else (2, 64, 2, 2, length, 512)
    model = Decoder(*shape).eval().to(DEVICE, DTYPE)
    token = torch.randint(512, (shape[3],), device=DEVICE)
    place = torch.zeros(1, dtype=torch.long, device=DEVICE)

    @torch.no_grad()
    def step() -> None:
        token.copy_(model(token, place).argmax(-1))
        place.copy_((place + 1) % length)

    return Subject("GPT, decode", {"gpt": model}, step, lambda: captured(step))


def play(run: joulemap.Session, phase: str, step: Callable[[], Any], seconds: float) -> int:
    """Play steps for a while; how many."""
    done = 0
    begin = time.monotonic()
    with run.phase(phase):
        while time.monotonic() - begin < seconds:
            with run.step():
                step()
            done += 1
            if CUDA and done % 10 == 0:
                torch.cuda.synchronize()  # the clock is the board's
        if CUDA:
            torch.cuda.synchronize()
    return done


def shares(report: joulemap.types.Report) -> tuple[float, float]:
    """Of the kernels' time, in rows of layers and optimizers, and in those of phases and steps beside them."""
    rows = [row for row in report.rows if row.depth == 0 and row.kind not in ("idle", "sampling")]
    every = sum(row.busy_s for row in rows) or 1.0
    layers = sum(row.busy_s for row in rows if row.kind not in BESIDE + NOWHERE)
    return layers / every, sum(row.busy_s for row in rows if row.kind in BESIDE) / every


@dataclass
class Cost:
    """A row of a step: joules without its children's, seconds of its kernels with theirs, and its calls."""

    energy_j: float = 0.0
    busy_s: float = 0.0
    calls: float = 0.0


def costs(report: joulemap.types.Report, steps: int) -> dict[tuple[str, str], Cost]:
    """Return what each row costs a step, by path and kind."""
    return {
        (row.path, row.kind): Cost(row.energy_self_j / steps, row.busy_s / steps, (row.calls or 0) / steps)
        for row in report.rows
        if row.kind not in BESIDE + NOWHERE and not row.path.startswith("(idle)") and row.energy_self_j is not None
    }


def compare(eager: dict[tuple[str, str], Cost], graphs: dict[tuple[str, str], Cost]) -> list[str]:
    """Return lines: what is off by how much, of layers that matter, beside how much their time is; and of all."""
    every = sum(cost.energy_j for cost in eager.values()) or 1.0
    lines, most, compared = [], 0.0, 0.0
    for key in sorted(eager, key=lambda key: -eager[key].energy_j):
        before, after = eager[key], graphs.get(key, Cost())
        if before.energy_j < LEAST_SHARE * every or before.busy_s == 0:
            continue
        off = after.energy_j / before.energy_j - 1
        most = max(most, abs(off))
        compared += before.energy_j
        path, kind = key
        changed = f"{100 * off:+7.1f} %, its time {100 * (after.busy_s / before.busy_s - 1):+6.1f} %"
        calls = f"{before.calls:.2f} and {after.calls:.2f} calls"
        both = f"{before.energy_j:11.5f} J {after.energy_j:11.5f} J"
        lines.append(f"  {path:40s} {kind:9s} {both} {changed}, {calls}")
    missing = sum(cost.energy_j for key, cost in graphs.items() if key not in eager)
    found = sum(cost.energy_j for cost in graphs.values())
    share = 100 * compared / every
    lines.append(f"  in layers a step: {every:.5f} J eager, {found:.5f} J from graphs; above stand {share:.0f} % of it")
    lines.append(f"  the most that a layer of {100 * LEAST_SHARE:.0f} % and more is off: {100 * most:.1f} %")
    if missing > 0:
        lines.append(f"  in layers that eager has not: {missing:.5f} J")
    return lines


def measure(make: Callable[[], Subject], seconds: float, turns: int, sim: str | None) -> list[str]:
    subject = make()
    with joulemap.Session(sim=sim, kernels=not sim) as run:
        for name, module in subject.modules.items():
            run.watch(module, name)
        with run.phase("capture"):
            for _ in range(3):
                subject.eager()
        # What changes the model when it is captured comes last.
        in_place = make is callables
        steps = {"eager": 0, "graphs": 0}
        if in_place:
            steps["eager"] = play(run, "eager", subject.eager, seconds * turns)
        with run.phase("capture"):
            replay = subject.capture()
        for _ in range(turns):
            if not in_place:
                steps["eager"] += play(run, "eager", subject.eager, seconds)
            steps["graphs"] += play(run, "graphs", replay, seconds)
        reports = {phase: run.report(by="layer", phase=phase) for phase in steps}
    lines = [f"{subject.name}: {steps['eager']} steps eager, {steps['graphs']} from graphs"]
    for phase, report in reports.items():
        layers, beside = shares(report)
        lines.append(
            f"  {phase:6s} {100 * layers:5.1f} % of the kernels' time in layers and optimizers, "
            f"{100 * beside:4.1f} % in phases and steps beside them; {report.quality.lost_records} records lost; "
            f"{report.verdict}"
        )
        lines += [f"    {note}" for note in report.notes if "graph" in note.lower()]
    return lines + compare(*(costs(reports[phase], max(steps[phase], 1)) for phase in ("eager", "graphs")))


SUBJECTS = {"resnet": resnet, "training": training, "callables": callables, "decode": decode}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--subject", choices=SUBJECTS, action="append", help="only these")
    parser.add_argument("--seconds", type=float, default=5.0, help="of a turn")
    parser.add_argument("--turns", type=int, default=3, help="of eager and graphs, one after the other")
    parser.add_argument("--sim", help="profile of a simulated board, to try the script")
    parser.add_argument("--out", type=Path, help="append to this file")
    args = parser.parse_args()
    if not CUDA and not args.sim:
        raise SystemExit("graphs.py: there is no GPU here (--sim h200 tries the script)")
    torch.manual_seed(0)
    publish(head("CUDA graphs by layer"), args.out)
    for name in args.subject or SUBJECTS:
        publish(measure(SUBJECTS[name], args.seconds, args.turns, args.sim), args.out)


if __name__ == "__main__":
    main()
