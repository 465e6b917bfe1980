"""What a budget for tracing costs, and what it tells: programs that the host holds back, in one process.

`cost` plays each program in stretches, shuffled in each round: plain, within a budget of 1 % between its turns, with
kernels traced, and with layers beside them. A figure is the median, over rounds, of a step's time divided by the plain
one of the same round, with its bootstrap interval; beside it the same of the main thread's CPU time. Then one long
stretch within the budget, with its beginning and all its turns, between two plain ones of half its length.

`layers` plays one program traced in full, then within the budget, and compares the joules of each layer's call.

Without a GPU, with --sim h200, small programs run on the CPU: that tries the script, and its figures are none.

    python bench/gpu/budget.py cost --out bench/results/budget-cost.json
    python bench/gpu/budget.py layers --seconds 60
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import joulemap
import torch
from joulemap._tracing import tracing
from transformers import DynamicCache, LlamaConfig, LlamaForCausalLM

CUDA = torch.cuda.is_available()
DEVICE = "cuda" if CUDA else "cpu"
DTYPE = torch.bfloat16 if CUDA else torch.float32
WARM_S = 0.3  # before a stretch is timed
LONGEST_OPENING_S = 20.0


@dataclass
class Program:
    """What is played: `step` is given what begins a step, by its tokens and name."""

    name: str
    step: Callable[[Callable[..., Any]], None]
    model: torch.nn.Module | None = None
    ratios: dict[str, dict[str, list[float]]] = field(default_factory=dict)


def llama(layers: int) -> LlamaForCausalLM:
    """Return a model from its config alone."""
    shape = {"hidden_size": 1024, "intermediate_size": 2816, "num_attention_heads": 16, "vocab_size": 8192}
    if not CUDA:
        shape = {"hidden_size": 64, "intermediate_size": 128, "num_attention_heads": 4, "vocab_size": 256}
    torch.manual_seed(0)
    config = LlamaConfig(num_hidden_layers=layers if CUDA else 2, max_position_embeddings=1024, **shape)
    return LlamaForCausalLM(config).to(DEVICE, DTYPE)


def training() -> Program:
    """Llama of width 1024, 16 layers, one sequence of 128 tokens."""
    model = llama(16).train()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4)
    ids = torch.randint(0, model.config.vocab_size, (1, 128), device=DEVICE)

    def step(begin: Callable[..., Any]) -> None:
        with begin(tokens=128):
            model(input_ids=ids, labels=ids).loss.backward()
            optimizer.step()
            optimizer.zero_grad()

    return Program("Llama training", step, model)


def decode() -> Program:
    """The same model with a cache: a prompt of 16 tokens, then one token a step, 64 of them."""
    model = llama(16).eval()
    prompt = torch.randint(0, model.config.vocab_size, (1, 16), device=DEVICE)
    state: dict[str, Any] = {"left": 0}

    def step(begin: Callable[..., Any]) -> None:
        is_prompt = state["left"] == 0
        if is_prompt:
            state.update(left=65, ids=prompt, cache=DynamicCache(config=model.config))
        state["left"] -= 1
        with begin(tokens=16 if is_prompt else 1, name="prompt" if is_prompt else "token"), torch.no_grad():
            out = model(input_ids=state["ids"], past_key_values=state["cache"], use_cache=True)
            state["ids"] = out.logits[:, -1:].argmax(-1)

    return Program("decode", step, model)


def launches() -> Program:
    """Two thousand small kernels a step, and nothing else."""
    x = torch.zeros(64, 64, device=DEVICE)

    def step(begin: Callable[..., Any]) -> None:
        with begin(samples=2000 if CUDA else 200):
            for _ in range(2000 if CUDA else 200):
                x.add_(1)

    return Program("64x64 add_", step)


PROGRAMS = {"training": training, "decode": decode, "launches": launches}


def nothing(**_: Any) -> Any:
    """Begin no step."""
    return nullcontext()


def sync() -> None:
    if CUDA:
        torch.cuda.synchronize()


def timed(program: Program, begin: Callable[..., Any], seconds: float) -> tuple[float, float]:
    """Seconds of time and of the main thread's CPU that a step takes."""
    sync()
    steps, start_s, cpu_s = 0, time.perf_counter(), time.thread_time()
    while time.perf_counter() - start_s < seconds:
        program.step(begin)
        steps += 1
    cpu_s = time.thread_time() - cpu_s
    sync()
    return (time.perf_counter() - start_s) / steps, cpu_s / steps


def warm(program: Program, begin: Callable[..., Any], seconds: float = WARM_S) -> None:
    timed(program, begin, seconds)


def session(args: argparse.Namespace, **options: Any) -> joulemap.Session:
    kernels = "auto" if args.sim else True
    return joulemap.Session(sim=args.sim, kernels=kernels, counters=False, **options)


def plain(program: Program, args: argparse.Namespace) -> tuple[float, float]:
    warm(program, nothing)
    return timed(program, nothing, args.stretch)


def traced(program: Program, args: argparse.Namespace, layers: bool) -> tuple[float, float]:
    with session(args) as run:
        if layers and program.model is not None:
            run.watch(program.model)
        warm(program, run.step)
        return timed(program, run.step, args.stretch)


def between_turns(program: Program, args: argparse.Namespace) -> tuple[float, float]:
    """A session with a budget, its first turn over: what untraced steps take."""
    with session(args, budget=args.budget) as run:
        if program.model is not None:
            run.watch(program.model)
        until_s = time.perf_counter() + LONGEST_OPENING_S
        while tracing.on and time.perf_counter() < until_s:
            program.step(run.step)
        warm(program, run.step)
        return timed(program, run.step, args.stretch)


@contextmanager
def torch_profiler() -> Iterator[None]:
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]):
        yield


def profiled(program: Program, args: argparse.Namespace) -> tuple[float, float]:
    """torch.profiler with kernels alone."""
    with torch_profiler():
        warm(program, nothing)
        return timed(program, nothing, args.stretch)


def interval(values: list[float]) -> tuple[float, float, float]:
    """The median, and a bootstrap interval of it (95 %)."""
    chance = random.Random(1)
    medians = sorted(statistics.median(chance.choices(values, k=len(values))) for _ in range(2000))
    return statistics.median(values), medians[50], medians[-51]


def percent(values: list[float]) -> str:
    middle, low, high = (100 * (value - 1) for value in interval(values))
    return f"{middle:+7.2f} % ({low:+.2f} to {high:+.2f})"


def play_rounds(program: Program, variants: dict[str, Callable[[], tuple[float, float]]], rounds: int) -> None:
    """All variants once a round, `plain` among them, in an order of chance."""
    chance = random.Random(2)
    for _ in range(rounds):
        order = list(variants)
        chance.shuffle(order)
        took = {name: variants[name]() for name in order}
        for name in order:
            ratios = program.ratios.setdefault(name, {"step_ms": [], "wall": [], "cpu": []})
            ratios["step_ms"].append(1e3 * took[name][0])
            ratios["wall"].append(took[name][0] / took["plain"][0])
            ratios["cpu"].append(took[name][1] / took["plain"][1])


def tell_rounds(program: Program) -> None:
    for name, ratios in program.ratios.items():
        step_ms = statistics.median(ratios["step_ms"])
        wall, cpu = percent(ratios["wall"]), percent(ratios["cpu"])
        print(f"  {name:24s} {step_ms:9.3f} ms   wall {wall:32s} CPU {cpu}", flush=True)


def whole(program: Program, args: argparse.Namespace) -> dict[str, float]:
    """One long stretch within the budget, beginning and turns included, against the plain ones around it."""
    half_s = args.long / 2
    warm(program, nothing)
    before = timed(program, nothing, half_s)
    with session(args, budget=args.budget) as run:
        if program.model is not None:
            run.watch(program.model)
        during = timed(program, run.step, args.long)
        cost = run.tracing_cost
    warm(program, nothing)
    after = timed(program, nothing, half_s)
    assert cost is not None
    return {
        "wall": during[0] / statistics.mean((before[0], after[0])),
        "cpu": during[1] / statistics.mean((before[1], after[1])),
        "plain_after_before": after[0] / before[0],
        "said": 1 + cost.share,
        "traced_share": cost.traced_steps / cost.steps,
    }


def measure_cost(args: argparse.Namespace) -> None:
    results: dict[str, Any] = {}
    for key in args.programs:
        program = PROGRAMS[key]()
        print(f"{program.name}: median of {args.rounds} rounds, against plain of the same round", flush=True)
        warm(program, nothing, 2.0)
        variants: dict[str, Callable[[], tuple[float, float]]] = {
            "plain": lambda program=program: plain(program, args),
            f"budget {100 * args.budget:g} %, untraced": lambda program=program: between_turns(program, args),
            "kernels": lambda program=program: traced(program, args, False),
        }
        if program.model is not None:
            variants["kernels and layers"] = lambda program=program: traced(program, args, True)
        play_rounds(program, variants, args.rounds)
        told = whole(program, args)
        if key == "launches" and CUDA:  # last: it keeps CUPTI
            profiler = {"plain": variants["plain"], "torch.profiler": lambda program=program: profiled(program, args)}
            before = program.ratios.pop("plain")
            play_rounds(program, profiler, args.rounds)
            program.ratios["plain"] = before
        tell_rounds(program)
        print(
            f"  budget {100 * args.budget:g} %, {args.long:g} s with its beginning and turns: wall "
            f"{100 * (told['wall'] - 1):+.2f} %, CPU {100 * (told['cpu'] - 1):+.2f} %; it said "
            f"{100 * (told['said'] - 1):.2f} %; {100 * told['traced_share']:.1f} % of steps traced; plain after "
            f"against before {100 * (told['plain_after_before'] - 1):+.2f} %",
            flush=True,
        )
        results[program.name] = {"ratios": program.ratios, "whole": told}
    if args.out is not None:
        args.out.parent.mkdir(parents=True, exist_ok=True)
        args.out.write_text(json.dumps({"torch": torch.__version__, "cost": results}, indent=1) + "\n")


# ---- joules


@dataclass
class LayerRow:
    """A layer's call: joules, and their interval."""

    share: float
    joules: float
    low: float
    high: float


def layer_rows(program: Program, args: argparse.Namespace, budget: float | None) -> dict[tuple[str, str], LayerRow]:
    with session(args, budget=budget) as run:
        assert program.model is not None
        run.watch(program.model)
        warm(program, run.step, args.seconds)
        if budget is not None:
            print(f"within {100 * budget:g} %: {run.tracing_cost}")
    rows: dict[tuple[str, str], LayerRow] = {}
    for row in run.report().rows:
        energy = (row.energy_j, row.energy_low_j, row.energy_high_j)
        if row.calls > 0 and None not in energy and row.share is not None:
            joules, low, high = (float(value or 0) / row.calls for value in energy)
            rows[row.path, row.kind] = LayerRow(row.share, joules, low, high)
    return rows


def compare_layers(args: argparse.Namespace) -> None:
    for key in args.programs:
        program = PROGRAMS[key]()
        if program.model is None:
            continue
        warm(program, nothing, 2.0)
        full, within = layer_rows(program, args, None), layer_rows(program, args, args.budget)
        both = [(full[place], within[place], place) for place in full if place in within]
        both.sort(key=lambda pair: -abs(pair[1].joules / pair[0].joules - 1) if pair[0].joules else 0)
        held = sum(a.low <= b.high and b.low <= a.high for a, b, _ in both)
        large = [abs(b.joules / a.joules - 1) for a, b, _ in both if a.share >= 0.01 and a.joules > 0]
        print(f"{program.name}: joules a call, traced in full and within {100 * args.budget:g} %, the worst first")
        print(
            f"  {len(both)} rows in both, {len(full) - len(both)} in full alone; intervals overlap in {held}; of rows "
            f"with 1 % of the energy or more: median {100 * statistics.median(large or [0]):.2f} %, most "
            f"{100 * max(large or [0]):.2f} %"
        )
        for a, b, (path, kind) in both[: args.rows]:
            print(
                f"  {path:40.40s} {kind:10s} {100 * a.share:5.1f} %  {a.joules:.4g} J ({a.low:.4g} to {a.high:.4g})  "
                f"{b.joules:.4g} J ({b.low:.4g} to {b.high:.4g})  "
                f"{100 * (b.joules / a.joules - 1) if a.joules else float('nan'):+.2f} %"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mode", choices=["cost", "layers"])
    parser.add_argument("--programs", nargs="+", choices=list(PROGRAMS), default=list(PROGRAMS))
    parser.add_argument("--budget", type=float, default=0.01)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--stretch", type=float, default=0.7, help="cost: seconds of a variant in a round")
    parser.add_argument("--long", type=float, default=24.0, help="cost: seconds of the long stretch within the budget")
    parser.add_argument("--seconds", type=float, default=40.0, help="layers: of each session")
    parser.add_argument("--rows", type=int, default=25, help="layers: how many are told")
    parser.add_argument("--sim", help="simulated board, where there is no GPU")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    measure_cost(args) if args.mode == "cost" else compare_layers(args)


if __name__ == "__main__":
    main()
