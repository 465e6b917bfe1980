"""What of `joulemap run` costs a program its time, by turns: variants.py ROUNDS PROGRAM [ARG...]."""

import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
VARIANTS = {
    "plain": [],
    "run": ["joulemap", "run", "-f", "-o", "/tmp/v.joulemap"],
    "run --no-kernels": ["joulemap", "run", "-f", "-o", "/tmp/v.joulemap", "--no-kernels"],
    "run --no-counters": ["joulemap", "run", "-f", "-o", "/tmp/v.joulemap", "--no-counters"],
    "record --no-kernels": ["joulemap", "record", "-f", "-o", "/tmp/v.joulemap", "--no-kernels"],
}
times: dict[str, list[float]] = {name: [] for name in VARIANTS}
for _ in range(int(sys.argv[1])):
    for name, before in VARIANTS.items():
        command = [*before, sys.executable, str(HERE / sys.argv[2]), *sys.argv[3:]]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        found = re.search(r"median step ([\d.]+) ms", done.stdout)
        times[name].append(float(found[1]) if found else float("nan"))
        print(name, times[name], flush=True)
