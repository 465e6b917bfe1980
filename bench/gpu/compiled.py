"""Joules of layers of a GPT in training, compiled and eager: who has the kernels, and do the layers agree.

The GPT of the examples is trained eager, by `torch.compile` and by its mode `reduce-overhead`, each in a process of its
own and recorded. Printed are the share of the kernels' time that is in a layer, the optimizer or a collective (at least
97 % is asked for), how much of it is in fused rows, the time of a step, and the joules of each block's layers a step
beside those of the eager run. Fusion takes work away from layers and puts it into fused rows: so a block with what is
fused in it is compared as a whole, matrix products one by one.

    python bench/gpu/compiled.py --seconds 20 --out bench/results/compiled.txt
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

HOW = {"eager": None, "default": "default", "reduce-overhead": "reduce-overhead"}
PRODUCTS = ("attn.qkv", "attn.proj", "mlp.fc", "mlp.proj")
IN_ROWS = ("forward", "backward", "recompute", "optimizer", "collective", "layer")


def train(how: str, path: str, seconds: float) -> None:
    """Train and record: in a process of its own."""
    import joulemap
    import torch

    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))
    from gpt_train import GPT, GPT2_SMALL

    torch.manual_seed(0)
    batch, length = 16, 1024
    model = GPT(GPT2_SMALL, length).to("cuda")
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, fused=True)
    tokens = torch.randint(GPT2_SMALL.vocabulary, (batch, length + 1), device="cuda")

    with joulemap.Session(path=path, overwrite=True, kernels=True) as run:
        run.watch(model)
        mode = HOW[how]
        called = model if mode is None else torch.compile(model, mode=mode)

        def step() -> None:
            with torch.autocast("cuda", dtype=torch.bfloat16):
                logits = called(tokens[:, :-1])
                loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1).float(), tokens[:, 1:].flatten())
            loss.backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)

        with run.phase("compile"):
            for _ in range(10):
                step()
            torch.cuda.synchronize()
        with run.phase("train"):
            end_s = time.monotonic() + seconds
            while time.monotonic() < end_s:
                with run.step(samples=batch):
                    step()
                torch.cuda.synchronize()


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


def table(recordings: dict[str, str]) -> str:
    """Tell what the recordings show."""
    import joulemap

    lines = ["run               step ms    in rows   fused   model itself   J a step"]
    joules: dict[str, dict[str, float]] = {}
    for how, path in recordings.items():
        with joulemap.Recording(path) as recording:
            report = recording.report("layer", phase="train")
        steps = report.totals.steps or 1
        # Of the outermost rows: a row's seconds hold those of its children.
        kernels_s = sum(row.busy_s for row in report.rows if row.depth == 0 and row.kind not in ("idle", "gap", "wait"))
        placed_s = sum(row.busy_s for row in report.rows if row.depth == 0 and row.kind in IN_ROWS)
        fused_s = sum(row.busy_s for row in report.rows if row.name.startswith("fused "))
        joules[how] = {row.path: (row.energy_j or 0.0) / steps for row in report.rows}
        total_j = (report.totals.total_energy_j or 0.0) / steps
        step_ms = 1e3 * (report.totals.duration_s or 0.0) / steps
        # What stands in the model's own row, in none of its layers: all of it, where nothing is known of the code.
        itself_s = next(row.busy_s for row in report.rows if row.path == "GPT")
        itself_s -= sum(row.busy_s for row in inside(report.rows, "GPT"))
        shares = " ".join(f"{100 * part_s / kernels_s:8.2f} %" for part_s in (placed_s, fused_s, itself_s))
        lines.append(f"{how:16s} {step_ms:8.2f} {shares} {total_j:10.3f}")
        lines += [f"  {note}" for note in report.notes if "torch.compile" in note]
    paths = sorted({path for path in joules["eager"] if path.startswith("blocks.") and path.count(".") == 1})
    lines += ["", f"{'J a step':24s}" + "".join(f"{how:>20s}" for how in joules)]
    for path in [*paths, *(f"{block}.{part}" for block in paths for part in PRODUCTS), "head"]:
        eager = joules["eager"].get(path)
        if not eager:
            continue
        cells = [
            f"{found.get(path, 0.0):10.4f} {100 * (found.get(path, 0.0) / eager - 1):+7.1f} %"
            for found in joules.values()
        ]
        lines.append(f"{path:24s}" + "".join(f"{cell:>20s}" for cell in cells))
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20.0, help="of training, each")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--how", choices=HOW, help="one run alone: what the others are started with")
    parser.add_argument("--recording", help="of that run")
    args = parser.parse_args()
    if args.how:
        train(args.how, args.recording, args.seconds)
        return
    with tempfile.TemporaryDirectory() as folder:
        recordings = {how: str(Path(folder) / f"{how}.joulemap") for how in HOW}
        for how, path in recordings.items():
            command = [sys.executable, __file__, "--how", how, "--recording", path, "--seconds", str(args.seconds)]
            subprocess.run(command, check=True)
        text = table(recordings)
    print(text)
    if args.out:
        args.out.write_text(text + "\n")


if __name__ == "__main__":
    main()
