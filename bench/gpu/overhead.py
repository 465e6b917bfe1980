"""What joulemap costs a program: the same workload with and without it, alternating, in one run.

Every round runs each variant once, in the same order, so that a drift of the machine meets all of them alike; the
figure of a variant is the median over rounds of its step time divided by the plain one of the same round.

    python bench/gpu/overhead.py --joulemap joulemap --rounds 5 --out bench/results/overhead.json
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

WORKLOAD = str(Path(__file__).parent / "workloads" / "timed.py")


def variants(joulemap: str, folder: Path) -> dict[str, dict[str, list[str]]]:
    """Command lines by workload and variant; ``plain`` first."""
    record = [joulemap, "record", "--force", "-o", str(folder / "overhead.joulemap")]
    python = [sys.executable, WORKLOAD]
    return {
        "gpt": {
            "plain": [*python, "gpt"],
            "sampling": [*record, "--no-kernels", "--", *python, "gpt"],
            "kernels": [*record, "--", *python, "gpt"],
            "kernels+layers": [*record, "--", *python, "gpt", "--watch"],
        },
        "launch": {
            "plain": [*python, "launch"],
            "kernels": [*record, "--", *python, "launch"],
            "torch.profiler": [*python, "launch", "--torch-profiler"],
        },
    }


def step_s(command: list[str], seconds: float) -> float:
    """Run one variant; its time a step in seconds."""
    extra = ["--seconds", str(seconds)]
    done = subprocess.run([*command, *extra], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed with {done.returncode}:\n{done.stderr}")
    return float(json.loads(done.stdout.strip().splitlines()[-1])["step_s"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--joulemap", default="joulemap", help="the command")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=6.0, help="timed seconds a variant and round")
    parser.add_argument("--workload", choices=["gpt", "launch"], action="append")
    parser.add_argument("--out", type=Path, default=Path(__file__).resolve().parents[1] / "results" / "overhead.json")
    args = parser.parse_args()

    results: dict[str, dict[str, dict[str, object]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for workload, commands in variants(args.joulemap, Path(folder)).items():
            if args.workload and workload not in args.workload:
                continue
            times: dict[str, list[float]] = {name: [] for name in commands}
            for _ in range(args.rounds):
                for name, command in commands.items():
                    times[name].append(step_s(command, args.seconds))
            results[workload] = {}
            print(f"{workload}: median of {args.rounds} rounds, against plain of the same round")
            for name, values in times.items():
                ratios = [value / plain for value, plain in zip(values, times["plain"], strict=True)]
                slower = statistics.median(ratios) - 1.0
                results[workload][name] = {"step_s": values, "ratio": ratios, "overhead": slower}
                print(
                    f"  {name:16s} step {1e3 * statistics.median(values):9.3f} ms   {100 * slower:+6.2f} %"
                    f"   (rounds {', '.join(f'{100 * (r - 1):+.2f}' for r in ratios)})",
                    flush=True,
                )
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
