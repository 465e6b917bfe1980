"""The examples on a real board: recorded, reported by layer and by kernel, kept in bench/results/.

For each: how much of the kernels' time is tied to a layer, the optimizer or a named phase (at least 98 % is
promised), how well the parts meet the energy counter, and what the fit's residual is.

    python bench/gpu/examples.py [--joulemap joulemap] [--out bench/results]
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import shlex
import shutil
import sqlite3
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


def shown(command: list[str], recording: str) -> str:
    """Return the command as a person would type it."""
    names = {sys.executable: "python", recording: Path(recording).name}
    return "$ " + shlex.join(["joulemap", *(names.get(part, part) for part in command[1:])])


def run(command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
    """Run in the repository's root; stop everything, with its words, if it fails."""
    print("$", shlex.join(command), flush=True)
    done = subprocess.run(command, cwd=ROOT, text=True, capture_output=True, check=False, **options)
    if done.returncode != 0:
        raise SystemExit(f"exit code {done.returncode}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}")
    return done


def tied_share(recording: Path) -> float:
    """Part of the kernels' time that lies in a span: in a layer, the optimizer, a named phase or range."""
    query = "SELECT total(duration_ns * (span_id > 0)), total(duration_ns) FROM kernels"
    with contextlib.closing(sqlite3.connect(recording)) as database:
        tied_ns, all_ns = database.execute(query).fetchone()
    return float(tied_ns) / float(all_ns)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--joulemap", default="joulemap", help="the command")
    parser.add_argument("--out", type=Path, default=ROOT / "bench" / "results")
    parser.add_argument("--keep", type=Path, help="folder for the recordings")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)

    board = run([args.joulemap, "list"]).stdout.splitlines()[0]
    failed = False
    for name, command in EXAMPLES.items():
        with tempfile.TemporaryDirectory() as folder:
            recording = str(Path(folder) / f"{name}.joulemap")
            recorded = [args.joulemap, "record", "-o", recording, "--", *command]
            done = run(recorded)
            print(done.stdout[-3000:], done.stderr[-1500:], sep="\n")
            tied = tied_share(Path(recording))
            failed |= tied < PROMISED_TIED
            summary = (
                f"tied to a layer, the optimizer or a named phase: {100 * tied:.2f} % of kernel time "
                f"(promised: {100 * PROMISED_TIED:.0f} %)"
            )
            print(f"{name}: {summary}")
            texts = [
                f"{name}: {datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d %H:%M} UTC, {board}",
                shown(recorded, recording),
                summary,
            ]
            for by in ("layer", "kernel", "type", "phase", "board"):
                view = [args.joulemap, "report", recording, "--by", by, "--limit", "60"]
                texts += ["\n" + shown(view, recording), run(view).stdout]
            (args.out / f"{name}.txt").write_text("\n".join(texts))
            if args.keep:
                shutil.copy(recording, args.keep)
    if failed:
        raise SystemExit("a promise was missed, see above")


if __name__ == "__main__":
    main()
