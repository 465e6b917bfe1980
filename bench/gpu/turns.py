"""A budget's turns: whether hardware counters were sampled in them, and joules of layers against all steps traced.

A model is trained with gradients of so many passes a step, so that steps are as long as one likes, by one rank or by
several, which sum their gradients. It runs twice, under `joulemap record` with a budget and without one; layers' joules
a step should be the same in both. Turns and samplings are told by the file: how many turns had the sampler on their
board, and what part of its time lay in them.

    python bench/gpu/turns.py --passes 20 --seconds 90 --out bench/results/turns.txt
    python bench/gpu/turns.py --ranks 2 --batch 8 --seconds 60                        # two GPUs
"""

from __future__ import annotations

import argparse
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import joulemap
import numpy as np
import torch
from numpy.typing import NDArray
from publish import head, publish
from stood import compare, joules
from subjects import make

TRACED, SOON = "joulemap: traced from here", "joulemap: to be traced soon"
UNTRACED = ("joulemap: not traced from here", "joulemap: steps alone from here")


def play(args: argparse.Namespace) -> None:
    """One rank of it, under the recorder."""
    rank = int(os.environ.get("LOCAL_RANK", "0"))
    torch.cuda.set_device(rank)
    torch.manual_seed(rank)
    subject = make(args.subject, args.batch, args.size, {})
    if args.ranks > 1:
        torch.distributed.init_process_group("nccl")
    for _ in range(3):
        subject.step()
    times = []
    with joulemap.Session() as run:
        run.watch(subject.model)
        begin = time.monotonic()
        over = torch.zeros(1, device="cuda")
        with run.phase("train"):
            while not over.item():
                began = time.monotonic()
                with run.step(samples=1):
                    for _ in range(args.passes):
                        subject.forward().backward()
                    for parameter in subject.model.parameters() if args.ranks > 1 else ():
                        torch.distributed.all_reduce(parameter.grad)
                    subject.optimizer.step()
                    subject.optimizer.zero_grad(set_to_none=True)
                    over.fill_(began - begin > args.seconds)
                    if args.ranks > 1:
                        torch.distributed.all_reduce(over)
                    torch.cuda.synchronize()
                times.append(time.monotonic() - began)
    if rank == 0:
        args.play.write_text(str(statistics.median(times)))
    if args.ranks > 1:
        torch.distributed.destroy_process_group()


def record(args: argparse.Namespace, budget: float, folder: Path) -> tuple[Path, float]:
    """Run it under the recorder: the recording, and the median step in seconds."""
    file, step = folder / f"{budget}.joulemap", folder / f"{budget}.step"
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(args.ranks)]
    command = ["joulemap", "record", "-o", str(file), *([f"--budget={100 * budget}%"] if budget else []), "--"]
    command += [sys.executable, *(torchrun if args.ranks > 1 else []), *sys.argv, "--play", str(step)]
    subprocess.run(command, check=True)
    return file, float(step.read_text())


def samples(db: sqlite3.Connection) -> dict[int, NDArray[np.int64]]:
    """When samples of hardware counters began, by board."""
    begins: dict[int, list[NDArray[np.int64]]] = {}
    blocks = "SELECT board_id, count, start_ns, data FROM counter_blocks JOIN counter_sets ON counter_sets.id = set_id"
    for board, count, start_ns, data in db.execute(blocks):
        rows = np.frombuffer(data, np.int64).reshape(count, -1)
        begins.setdefault(board, []).append(rows[:, 0] + start_ns)
    return {board: np.sort(np.concatenate(parts)) for board, parts in begins.items()}


def turns_told(file: Path) -> list[str]:
    """By process: its turns after the opening, those that were told before, and those that were sampled."""
    with closing(sqlite3.connect(file)) as db:
        marks = list(
            db.execute(
                "SELECT process_id, t_ns, text FROM marks JOIN names ON names.id = name_id"
                " WHERE text IN (?, ?, ?, ?) ORDER BY t_ns",
                (TRACED, SOON, *UNTRACED),
            )
        )
        boards = dict(db.execute("SELECT process_id, max(board_id) FROM streams GROUP BY process_id"))
        sampled = samples(db)
    lines = []
    for process in sorted({process for process, _, _ in marks}):
        of_it = [(t_ns, text) for number, t_ns, text in marks if number == process]
        traced = [(a, b) for (a, text), (b, after) in pairwise(of_it) if text == TRACED and after in UNTRACED]
        if not traced:
            continue
        (_, opened_ns), *turns = traced
        told = sum(text == SOON for _, text in of_it)
        begins = sampled.get(boards.get(process, 0), np.empty(0, np.int64))
        counts = [np.count_nonzero((start <= begins) & (begins < end)) for start, end in turns]
        lines.append(
            f"  process {process}, board {boards.get(process)}: {len(turns)} turns after the opening,"
            f" {sum(end - start for start, end in turns) / 1e9:.2f} s in all, {told} told before,"
            f" {sum(count > 0 for count in counts)} sampled; of {len(begins)} samples"
            f" {np.count_nonzero(begins < opened_ns)} in or before the opening, {sum(counts)} in turns"
        )
    return lines


def known(report: joulemap.types.Report) -> str:
    """How joules of layers are known, and how many layers each."""
    ways = Counter(row.provenance for row in report.rows if row.kind == "layer")
    return ", ".join(f"{way} {count}" for way, count in ways.most_common())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--play", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--subject", default="gpt", help="gpt, torchvision:NAME or transformers:TYPE")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--size", type=int, default=1024)
    parser.add_argument("--passes", type=int, default=1, help="forward and backward passes a step")
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--budget", type=float, default=0.01)
    parser.add_argument("--seconds", type=float, default=90.0, help="each")
    parser.add_argument("--folder", type=Path, help="keep the recordings here")
    parser.add_argument("--out", type=Path, help="append the figures to this file")
    args = parser.parse_args()
    if args.play:
        play(args)
        return
    lines = head("Turns of a budget")
    kinds: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as temporary:
        for budget in (0.0, args.budget):
            file, step_s = record(args, budget, args.folder or Path(temporary))
            report = joulemap.Recording(file).report("layer", phase="train")
            kinds.append({"step_s": step_s, **joules(report)})
            lines.append(f"{100 * budget:g} %: {known(report)}" if budget else f"all traced: {known(report)}")
        lines += turns_told(file)
    publish([*lines, compare(*kinds)], args.out)


if __name__ == "__main__":
    main()
