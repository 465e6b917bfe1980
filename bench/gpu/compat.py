"""Scripts of older tools (tests/compat) on a real GPU, as they are: each ends without an error."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

SCRIPTS = sorted((Path(__file__).parents[2] / "tests/compat").glob("*.py"))


def run(script: Path) -> bool:
    """Run a script in a folder of its own; say how it went."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("JOULEMAP_SIM")}
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-m", "joulemap.compat", str(script)],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
    fine = done.returncode == 0 and "runs on the CPU" not in done.stderr
    print(f"{script.stem:40} {'ok' if fine else 'FAILED'}", flush=True)
    if not fine:
        print(done.stdout + done.stderr)
    return fine


if __name__ == "__main__":
    failed = [script.stem for script in SCRIPTS if not run(script)]
    sys.exit(1 if failed else 0)
