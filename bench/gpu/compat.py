"""Scripts of older tools (tests/compat) on a real GPU, as they are: each ends without an error.

    python3 bench/gpu/compat.py [WORD...] [--jobs 8] [--out FOLDER]

A line a script: its name, seconds, ok, skipped or FAILED, then the last lines of what it said. With words, those whose
names have one of them in it. Those that measure layers one by one run alone, after the others: each needs the GPU for
itself. In FOLDER are the files that they wrote, and what each said (NAME.log).
"""

from __future__ import annotations

import argparse
import ast
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from joulemap.compat import MODULES

SCRIPTS = sorted((Path(__file__).resolve().parents[2] / "tests/compat").glob("*.py"))
SETS = ("power_cap",)  # power caps are set on the simulated board alone (tests/python)
ALONE = ("profile_all_layers", "compare_precisions")
SECONDS = 3  # for layers one by one, where the script does not say: 2.5 s a layer at least
LIMIT_S = 180
LINES = 15


@dataclass(frozen=True)
class Ended:
    """How a script went: "ok", "skipped: why" or "FAILED why", and the last lines of what it said."""

    name: str
    seconds: float
    verdict: str
    said: str = ""

    def __str__(self) -> str:
        last = "".join(f"\n    {line}" for line in self.said.splitlines()[-LINES:])
        return f"{self.name:42} {self.seconds:6.1f} s  {self.verdict}{last}"


def missing(script: Path) -> list[str]:
    """Return the modules that a script imports and this Python does not have."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(script.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.partition(".")[0])
    return sorted(name for name in names - set(MODULES) if find_spec(name) is None)


def run(script: Path, out: Path) -> Ended:
    """Run a script in a folder of its own."""
    lacks = missing(script)
    if lacks:
        verb = "is" if len(lacks) == 1 else "are"
        return Ended(script.stem, 0.0, f"skipped: {', '.join(lacks)} {verb} not installed")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("JOULEMAP_SIM")}
    environment["TF_FORCE_GPU_ALLOW_GROWTH"] = "true"  # beside others
    folder = out / script.stem
    folder.mkdir(parents=True, exist_ok=True)
    log = out / f"{script.stem}.log"
    begin = time.monotonic()
    with log.open("w") as file:
        try:
            status: int | str = subprocess.run(
                [sys.executable, "-m", "joulemap.compat", f"--seconds={SECONDS}", str(script)],
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                timeout=LIMIT_S,
                check=False,
            ).returncode
        except subprocess.TimeoutExpired:
            status = f"after {LIMIT_S} s"
    seconds, said = time.monotonic() - begin, log.read_text(errors="replace")
    if status == 0 and "runs on the CPU" in said:
        status = "on the CPU: there is no CUDA"
    return Ended(script.stem, seconds, "ok") if status == 0 else Ended(script.stem, seconds, f"FAILED {status}", said)


def main() -> int:
    """Run those that are asked for; return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("words", nargs="*", metavar="WORD", help="scripts with one of them in the name (all)")
    parser.add_argument("--jobs", type=int, default=8, help="so many at a time (8)")
    parser.add_argument("--out", type=Path, help="folder for their files, and NAME.log")
    asked = parser.parse_args()
    safe = [script for script in SCRIPTS if not any(word in script.read_text(encoding="utf-8") for word in SETS)]
    scripts = [script for script in safe if not asked.words or any(word in script.stem for word in asked.words)]
    if not scripts:
        parser.error(f"no script has {' or '.join(asked.words)} in its name")
    alone = [script for script in scripts if any(word in script.read_text(encoding="utf-8") for word in ALONE)]
    beside = [script for script in scripts if script not in alone]
    begin = time.monotonic()
    ended = []
    with tempfile.TemporaryDirectory() as temporary:
        out = Path(temporary) if asked.out is None else asked.out.resolve()
        for at_a_time, some in ((max(1, asked.jobs), beside), (1, alone)):
            with ThreadPoolExecutor(at_a_time) as pool:
                for future in as_completed([pool.submit(run, script, out) for script in some]):
                    ended.append(future.result())
                    print(ended[-1], flush=True)
    counts = {word: sum(one.verdict.startswith(word) for one in ended) for word in ("ok", "skipped", "FAILED")}
    told = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
    print(f"{len(ended)} scripts in {time.monotonic() - begin:.0f} s: {told}")
    return 1 if counts["FAILED"] else 0


if __name__ == "__main__":
    sys.exit(main())
