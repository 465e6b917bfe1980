"""The examples on a real board: recorded, reported by layer and by kernel, kept in bench/results/.

For each: how much of the kernels' time is tied to a layer, the optimizer or a named phase (at least 98 % is
promised), how well the parts meet the energy counter, and what the fit's residual is.

    python bench/gpu/examples.py [--joulemap joulemap] [--out bench/results]
"""

from __future__ import annotations

import argparse
import datetime
import json
import platform
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = {
    "gpt_train": [sys.executable, "examples/gpt_train.py", "--seconds", "20"],
    "resnet_infer": [sys.executable, "examples/resnet_infer.py", "--seconds", "15"],
    "llm_layer_profile": [sys.executable, "-m", "joulemap.compat", "examples/llm_layer_profile.py"],
}
PROMISED_TIED = 0.98


def run(command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
    """Run in the repository's root; stop everything, with its words, if it fails."""
    print("$", shlex.join(command), flush=True)
    done = subprocess.run(command, cwd=ROOT, text=True, capture_output=True, check=False, **options)
    if done.returncode != 0:
        raise SystemExit(f"exit code {done.returncode}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}")
    return done


def tied_share(report: dict[str, Any]) -> float:
    """Part of the kernels' time that lies in a span, from a report by kernel's sibling by layer."""
    busy = {row["kind"]: 0.0 for row in report["rows"]}
    for row in report["rows"]:
        if "/" not in row["path"] or row["kind"] == "outside":
            busy[row["kind"]] += row["busy_self_s"] or 0.0
    tied = sum(seconds for kind, seconds in busy.items() if kind not in ("outside", "idle", "unresolved"))
    return tied / (tied + busy.get("outside", 0.0))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--joulemap", default="joulemap", help="the command")
    parser.add_argument("--out", type=Path, default=ROOT / "bench" / "results")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)

    failed = False
    for name, command in EXAMPLES.items():
        with tempfile.TemporaryDirectory() as folder:
            recording = str(Path(folder) / f"{name}.joulemap")
            recorded = [args.joulemap, "record", "-o", recording, "--", *command]
            done = run(recorded)
            print(done.stdout[-3000:], done.stderr[-1500:], sep="\n")
            by_layer = json.loads(run([args.joulemap, "report", recording, "--by", "layer", "--json"]).stdout)
            tied = tied_share(by_layer)
            failed |= tied < PROMISED_TIED
            summary = (
                f"tied to a layer, the optimizer or a named phase: {100 * tied:.2f} % of kernel time "
                f"(promised: {100 * PROMISED_TIED:.0f} %)"
            )
            print(f"{name}: {summary}")
            texts = [
                f"{name}: {datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d %H:%M} UTC, {platform.node()}",
                f"$ {shlex.join(['joulemap', *recorded[1:]])}",
                summary,
            ]
            for by in ("layer", "kernel", "type", "phase", "board"):
                view = [args.joulemap, "report", recording, "--by", by, "--limit", "60"]
                texts += [f"\n$ {shlex.join(['joulemap', *view[1:]])}", run(view).stdout]
            (args.out / f"{name}.txt").write_text("\n".join(texts))
    if failed:
        raise SystemExit("a promise was missed, see above")


if __name__ == "__main__":
    main()
