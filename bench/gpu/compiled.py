"""Joules of layers, compiled and eager: who has the kernels, and do the layers agree.

`training`: the GPT of the examples is trained eager, by `torch.compile` and by its mode `reduce-overhead`. `decode`: a
Llama of transformers generates with a dynamic cache, eager, and with its static cache, for which transformers compiles
the model and captures it in graphs. Each runs in a process of its own and is recorded. Printed are the share of the
kernels' time that is in a layer, the optimizer or a collective (eager's says what there is: the loss is no module's)
and that in the phase beside them, how much of it is in fused rows, the time of a step, and joules a step beside those
of the eager run. Fusion takes work away from layers and puts it into fused rows: so it is the kernels that both have,
of one name in one layer and called as often, whose joules are compared; and of these those that last as long, as a
static cache is attended to over its whole length, and what one run leaves in the L2 cache another does not. A board at
its power limit runs slower the busier a program keeps it, and so draws less for the same kernels: `--rest` keeps it
below.

    python bench/gpu/compiled.py --seconds 20 --out bench/results/compiled.txt
    python bench/gpu/compiled.py --seconds 20 --rest 0.06
    python bench/gpu/compiled.py --subject decode --seconds 20 --out bench/results/compiled_decode.txt
"""

from __future__ import annotations

import argparse
import csv
import io
import math
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SUBJECTS = {"training": ["eager", "default", "reduce-overhead"], "decode": ["eager", "static cache"]}
PROMPT, TOKENS, SEQUENCES = 32, 128, 8  # of a generation
AS_LONG = 0.05  # by so much the times of kernels that do the same work may differ
LEAST_SHARE = 0.001  # kernels in a layer with less of the energy are not compared
IN_ROWS = ("forward", "backward", "recompute", "optimizer", "collective", "layer")


def training(how: str) -> tuple[Any, Callable[[], None]]:
    """Return the model, and what makes a step of it."""
    import torch

    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))
    from gpt_train import GPT, GPT2_SMALL

    batch, length = 16, 1024
    model = GPT(GPT2_SMALL, length).to("cuda")
    called = model if how == "eager" else torch.compile(model, mode=how)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, fused=True)
    tokens = torch.randint(GPT2_SMALL.vocabulary, (batch, length + 1), device="cuda")

    def step() -> None:
        with torch.autocast("cuda", dtype=torch.bfloat16):
            logits = called(tokens[:, :-1])
            loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1).float(), tokens[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return model, step


def decode(how: str) -> tuple[Any, Callable[[], None]]:
    """Return the model, and what generates with it."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    device = "cuda" if torch.cuda.is_available() else "cpu"
    width, layers = (2048, 16) if device == "cuda" else (128, 2)
    config = LlamaConfig(
        hidden_size=width,
        intermediate_size=int(2.75 * width),
        num_hidden_layers=layers,
        num_attention_heads=16,
        vocab_size=32000,
        max_position_embeddings=PROMPT + TOKENS,
    )
    model = LlamaForCausalLM(config).to(device, torch.bfloat16).eval()
    prompt = torch.randint(config.vocab_size, (SEQUENCES, PROMPT), device=device)
    cache = {} if how == "eager" else {"cache_implementation": "static"}

    def step() -> None:
        model.generate(prompt, do_sample=False, max_new_tokens=TOKENS, min_new_tokens=TOKENS, pad_token_id=0, **cache)

    return model, step


def play(subject: str, how: str, path: str, seconds: float, rest_s: float) -> None:
    """Run and record: in a process of its own."""
    import joulemap
    import torch

    torch.manual_seed(0)
    model, step = (training if subject == "training" else decode)(how)
    cuda = torch.cuda.is_available()
    options = {"kernels": True} if cuda else {"sim": "h200"}  # which tries the script
    with joulemap.Session(path=path, overwrite=True, **options) as run:
        run.watch(model)
        with run.phase("compile"):
            for _ in range(10 if subject == "training" else 3):
                step()
            if cuda:
                torch.cuda.synchronize()
        steps = 0
        with run.phase("measured"):
            end_s = time.monotonic() + seconds
            while time.monotonic() < end_s:
                with run.step():
                    step()
                    steps += 1
                if cuda:
                    torch.cuda.synchronize()
                time.sleep(rest_s)
    Path(f"{path}.steps").write_text(str(steps))


def inside(rows: Iterable[Any], path: str) -> Iterator[Any]:
    """Give the rows one deeper than that of a path, which stand below it."""
    depth = None
    for row in rows:
        if depth is not None and row.depth <= depth:
            return
        if depth is not None and row.depth == depth + 1:
            yield row
        if row.path == path:
            depth = row.depth


@dataclass
class Kernel:
    """A kernel in a layer: joules and seconds a step, the half of the joules' 95 % interval, and calls."""

    energy_j: float
    half_j: float
    busy_s: float
    calls: float


def kernels(path: str, steps: int) -> dict[tuple[str, str], Kernel]:
    """Return each kernel of each layer."""
    command = [sys.executable, "-m", "joulemap", "export", path, "--format", "csv", "--kernels", "--phase", "measured"]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found = {}
    around: list[str] = []  # the paths of the rows that this one is in, from the outermost
    for row in csv.DictReader(io.StringIO(text)):
        del around[int(row["depth"]) :]
        if row["kind"] == "kernel" and row["energy_j"]:
            half_j = (float(row["energy_high_j"]) - float(row["energy_low_j"])) / 2
            values = (float(row["energy_j"]), half_j, float(row["busy_s"]), float(row["calls"]))
            kernel = Kernel(*(value / steps for value in values))
            found[around[-1] if around else "", row["name"]] = kernel
        around.append(row["path"])
    return found


def told(pairs: dict[tuple[str, str], tuple[Kernel, Kernel]], every_j: float, what: str) -> list[str]:
    """Return lines: how far these kernels are from each other, and the layers that they are in."""
    if not pairs:
        return [f"{what}: none"]
    held = sum(abs(a.energy_j - b.energy_j) <= math.hypot(a.half_j, b.half_j) for a, b in pairs.values())
    layers: dict[str, list[Kernel]] = {}
    for (layer, _), (before, after) in pairs.items():
        of = layers.setdefault(layer, [Kernel(0, 0, 0, 0), Kernel(0, 0, 0, 0)])
        for whole, part in zip(of, (before, after), strict=True):
            whole.energy_j += part.energy_j
            whole.busy_s += part.busy_s
    off = {layer: 100 * (after.energy_j / before.energy_j - 1) for layer, (before, after) in layers.items()}
    both = 100 * sum(before.energy_j for before, _ in pairs.values()) / every_j
    within = sum(abs(value) <= 5 for value in off.values())
    lines = [
        f"{what}: {len(pairs)}, with {both:.1f} % of its joules in kernels; {held} pairs are as close as their",
        f"  intervals say. {len(off)} layers, {within} within 5 %, the median off by "
        f"{statistics.median(map(abs, off.values())):.1f} %; the worst:",
    ]
    for layer in sorted(off, key=lambda layer: -abs(off[layer]))[:6]:
        before, after = layers[layer]
        slower = 100 * (after.busy_s / before.busy_s - 1)
        lines.append(
            f"  {layer[:32]:32s} {before.energy_j:9.4f} J {after.energy_j:9.4f} J {off[layer]:+7.1f} %, "
            f"{1e3 * before.busy_s:8.4f} ms {1e3 * after.busy_s:8.4f} ms {slower:+7.1f} %"
        )
    return lines


def compare(how: str, eager: dict[tuple[str, str], Kernel], found: dict[tuple[str, str], Kernel]) -> list[str]:
    """Return lines: kernels that both have, and of these those that last as long, which does away with other work."""
    every_j = sum(kernel.energy_j for kernel in eager.values())
    pairs = {key: (eager[key], found[key]) for key in eager.keys() & found.keys()}
    pairs = {key: pair for key, pair in pairs.items() if pair[0].energy_j >= LEAST_SHARE * every_j}
    pairs = {key: (a, b) for key, (a, b) in pairs.items() if abs(b.calls - a.calls) <= 0.01 * a.calls}
    alike = {key: (a, b) for key, (a, b) in pairs.items() if abs(b.busy_s - a.busy_s) <= AS_LONG * a.busy_s}
    return [
        "",
        *told(pairs, every_j, f"{how}, kernels that eager has too, in the same layer, called as often"),
        *told(alike, every_j, f"{how}, of these, those whose times are within {100 * AS_LONG:g} %"),
    ]


def table(recordings: dict[str, str]) -> str:
    """Tell what the recordings show."""
    import joulemap

    lines = ["run               step ms    in rows   in phase   fused   model itself   J a step   MHz"]
    joules: dict[str, dict[tuple[str, str], Kernel]] = {}
    for how, path in recordings.items():
        with joulemap.Recording(path) as recording:
            report = recording.report("layer", phase="measured")
        steps = int(Path(f"{path}.steps").read_text())
        # Of the outermost rows: a row's seconds hold those of its children.
        outer = [row for row in report.rows if row.depth == 0 and row.kind not in ("idle", "gap", "wait", "sampling")]
        kernels_s = sum(row.busy_s for row in outer)
        placed_s = sum(row.busy_s for row in outer if row.kind in IN_ROWS)
        beside_s = sum(row.busy_s for row in outer if row.kind == "phase")
        fused_s = sum(row.busy_s for row in report.rows if row.name.startswith("fused "))
        joules[how] = kernels(path, steps)
        total_j = (report.totals.total_energy_j or 0.0) / steps
        step_ms = 1e3 * (report.totals.duration_s or 0.0) / steps
        # What stands in the model's own row, in none of its layers: all of it, where nothing is known of the code.
        root = next(row for row in report.rows if row.path in ("GPT", "LlamaForCausalLM"))
        itself_s = root.busy_s - sum(row.busy_s for row in inside(report.rows, root.path))
        parts = (placed_s, beside_s, fused_s, itself_s)
        shares = " ".join(f"{100 * part_s / kernels_s:8.2f} %" for part_s in parts)
        lines.append(f"{how:16s} {step_ms:8.2f} {shares} {total_j:10.3f} {report.quality.clock_mhz or 0:5.0f}")
        lines += [f"  {note}" for note in report.notes if "torch.compile" in note]
    for how in recordings:
        if how != "eager":
            lines += compare(how, joules["eager"], joules[how])
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20.0, help="of each")
    parser.add_argument("--rest", type=float, default=0.0, help="seconds after each step")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--subject", choices=SUBJECTS, default="training")
    parser.add_argument("--how", help="one run alone: what the others are started with")
    parser.add_argument("--recording", help="of that run")
    args = parser.parse_args()
    if args.how:
        play(args.subject, args.how, args.recording, args.seconds, args.rest)
        return
    with tempfile.TemporaryDirectory() as folder:
        recordings = {how: str(Path(folder) / f"{how}.joulemap") for how in SUBJECTS[args.subject]}
        for how, path in recordings.items():
            command = [sys.executable, __file__, "--subject", args.subject, "--how", how, "--recording", path]
            subprocess.run([*command, "--seconds", str(args.seconds), "--rest", str(args.rest)], check=True)
        text = table(recordings)
    print(text)
    if args.out:
        args.out.write_text(text + "\n")


if __name__ == "__main__":
    main()
