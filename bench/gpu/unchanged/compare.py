"""Programs that know nothing of joulemap, plain and under `joulemap run`, by turns: what `run` prints, a step's time.

compare.py FOLDER ROUNDS PROGRAM [ARG...] [-- PROGRAM ...] writes what each run printed into FOLDER, and a line for each
program: the median over the rounds of the ratio of step times, run to plain.
"""

import re
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def words() -> list[list[str]]:
    programs: list[list[str]] = [[]]
    for word in sys.argv[3:]:
        if word == "--":
            programs.append([])
        else:
            programs[-1].append(word)
    return programs


def step_ms(command: list[str], log: Path) -> float:
    done = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False)
    log.write_text(done.stdout + done.stderr)
    found = re.search(r"median step ([\d.]+) ms", done.stdout)
    return float(found[1]) if found else float("nan")


def main() -> None:
    folder, rounds = Path(sys.argv[1]), int(sys.argv[2])
    for program in words():
        name = "-".join(program).replace(".py", "")
        python = [sys.executable, str(HERE / program[0]), *program[1:]]
        plain, run = [], []
        for i in range(rounds):
            run_command = ["joulemap", "run", "-f", "-o", str(folder / f"{name}.joulemap"), *python]
            both = [(run, run_command, "run"), (plain, python, "plain")]
            for times, command, how in both if i % 2 else both[::-1]:
                times.append(step_ms(command, folder / f"{name}.{how}.txt"))
        ratios = [r / p for r, p in zip(run, plain, strict=True)]
        print(f"{name}: plain {plain} ms, run {run} ms, ratio {statistics.median(ratios):.4f}", flush=True)
        print((folder / f"{name}.run.txt").read_text()[-1500:], flush=True)


main()
