"""What a recorder costs that comes and goes: one PyTorch training, dormant, attached to, and neither.

A child trains; it was started by `joulemap dormant`, and writes down when each step began and how long it took.
Recorders attach to it 50 times for a second. Its steps of attached and of later seconds are compared with those from
before the first one; the same training without joulemap's environment runs before and after, in processes that differ
by themselves. Told beside it: kernels a step while attached (all steps have as many), and what the process holds before
and after: threads, descriptors, mappings, memory.

    python bench/gpu/attach.py --out bench/results/attach.txt
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from publish import head, publish

OPENING_NS = 5 * 10**9  # a recorder starts, and CUPTI for the first time
LEAST_PLAIN_S = 8  # that much more than OPENING_NS
WARM = 50  # steps that are no figure: clocks, allocator, autotuning


def train(log: Path, width: int) -> None:
    """Train a small Llama-like stack until the standard input ends; a line a step: begin in ns, milliseconds."""
    import select

    import joulemap
    import torch

    torch.manual_seed(0)
    layers = [torch.nn.TransformerEncoderLayer(width, 8, 4 * width, 0.0, batch_first=True) for _ in range(8)]
    model = torch.nn.Sequential(*layers).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    x = torch.randn(8, 256, width, device="cuda")
    if os.environ.get("JOULEMAP_DORMANT"):
        run = joulemap.Session().start()
        run.watch(model)
    with log.open("w") as out:
        print("ready", flush=True)
        while not select.select([sys.stdin], [], [], 0)[0]:
            began_ns = time.monotonic_ns()
            model(x).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()
            torch.cuda.synchronize()
            out.write(f"{began_ns} {(time.monotonic_ns() - began_ns) / 1e6:.4f}\n")


class Child:
    """The training as a process."""

    def __init__(self, log: Path, width: int, *, dormant: bool) -> None:
        self.log = log
        command = [sys.executable, __file__, "--train", str(log), "--width", str(width)]
        if dormant:
            command = ["joulemap", "dormant", "--", *command]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "ready\n"

    def steps(self) -> list[tuple[int, float]]:
        """End it; begin and milliseconds of each step but the first."""
        self.process.communicate(timeout=120)
        if self.process.returncode != 0:
            raise SystemExit(f"the training ended with {self.process.returncode}")
        lines = (line.split() for line in self.log.read_text().splitlines())
        return [(int(began), float(ms)) for began, ms in lines][WARM:]

    def holds(self) -> dict[str, int]:
        """Threads, descriptors, mappings and kB of the process."""
        folder = Path(f"/proc/{self.process.pid}")
        status = (folder / "status").read_text()
        return {
            "threads": len(list((folder / "task").iterdir())),
            "descriptors": len(list((folder / "fd").iterdir())),
            "mappings": len((folder / "maps").read_text().splitlines()),
            "resident kB": int(re.search(r"VmRSS:\s+(\d+)", status).group(1)),  # type: ignore[union-attr]
        }


def attach(pid: int, path: Path, seconds: float) -> tuple[int, int]:
    """Record it; from when to when it was seen."""
    subprocess.run(
        ["joulemap", "attach", "--seconds", str(seconds), "--no-counters", "--force", "-o", str(path), str(pid)],
        check=True,
        stderr=subprocess.PIPE,
        timeout=120,
    )
    import sqlite3

    with sqlite3.connect(path) as db:
        meta = dict(db.execute("SELECT key, value FROM meta"))
    return int(meta["attached_start_ns"]), int(meta["attached_end_ns"])


def kernels_by_step(path: Path, steps: list[tuple[int, float]], seen: tuple[int, int]) -> tuple[Counter[int], int]:
    """How many steps that were seen whole had how many kernels; and what was lost."""
    import bisect
    import sqlite3

    with sqlite3.connect(path) as db:
        launches = [
            row[0]
            for row in db.execute(
                "SELECT start_ns - queued_ns AS launch_ns FROM kernels WHERE queued_ns IS NOT NULL ORDER BY launch_ns"
            )
        ]
        lost = db.execute("SELECT coalesce(sum(count), 0) FROM losses").fetchone()[0]
    counts: Counter[int] = Counter()
    for began_ns, ms in steps:
        ended_ns = began_ns + int(ms * 1e6)
        if began_ns < seen[0] or ended_ns > seen[1]:
            continue
        counts[bisect.bisect_right(launches, ended_ns) - bisect.bisect_left(launches, began_ns)] += 1
    return counts, lost


def measure(folder: Path, given: argparse.Namespace) -> tuple[list[tuple[int, float]], list[tuple[int, int]], str]:
    """Attach to a dormant training again and again: its steps, when it was seen, what it holds."""
    child = Child(folder / "dormant", given.width, dormant=True)
    time.sleep(given.plain)
    attach(child.process.pid, folder / "first", given.seconds)  # CUPTI is loaded and stays
    time.sleep(2)
    before = child.holds()
    seen = []
    for i in range(given.times):
        seen.append(attach(child.process.pid, folder / f"r{i}", given.seconds))
        time.sleep(2)
    after = child.holds()
    return child.steps(), seen, "  ".join(f"{what} {before[what]} -> {after[what]}" for what in before)


def plain(folder: Path, name: str, given: argparse.Namespace) -> float:
    """Return the median step of the training without joulemap."""
    child = Child(folder / name, given.width, dormant=False)
    time.sleep(given.plain)
    return statistics.median(ms for _, ms in child.steps())


def main() -> None:
    """Run all and write what came out."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--train", type=Path)
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--times", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--plain", type=float, default=20.0, help="seconds without joulemap, twice, and dormant")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    if given.plain < LEAST_PLAIN_S:
        parser.error(f"--plain: the dormant program's own steps need {LEAST_PLAIN_S} s and more")
    if given.train is not None:
        train(given.train, given.width)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        never = [plain(folder, "before", given)]
        steps, seen, held = measure(folder, given)
        never.append(plain(folder, "after", given))
        counts: Counter[int] = Counter()
        lost = 0
        for i, one in enumerate(seen):
            more, gone = kernels_by_step(folder / f"r{i}", steps, one)
            counts += more
            lost += gone
    groups: dict[str, list[float]] = {"dormant": [], "attached": [], "detached": []}
    for began_ns, ms in steps:
        if began_ns < seen[0][0] - 2 * 10**9 - int(1e9 * given.seconds) - OPENING_NS:  # before the first recorder
            groups["dormant"].append(ms)
        elif any(start <= began_ns <= end for start, end in seen):
            groups["attached"].append(ms)
        elif seen[0][1] < began_ns and not any(start - 10**9 < began_ns < end + 3 * 10**8 for start, end in seen):
            groups["detached"].append(ms)  # neither while CUPTI starts nor while it stops
    base = statistics.median(groups["dormant"])
    lines = [
        f"median step, milliseconds; {given.times} times attached for {given.seconds:g} s",
        f"  never        {never[0]:8.3f} before, {never[1]:8.3f} after: processes of their own",
    ]
    for what, values in groups.items():
        if values:
            median = statistics.median(values)
            lines.append(f"  {what:12} {median:8.3f}  {100 * (median / base - 1):+6.1f} %  {len(values)} steps")
    usual, usual_steps = counts.most_common(1)[0]
    whole = sum(counts.values())
    lines.append(f"kernels a step: {usual} in {usual_steps} of {whole} steps seen whole; {lost} lost")
    lines.append(f"the process: {held}")
    publish(head("a recorder that comes and goes") + lines, given.out)


if __name__ == "__main__":
    main()
