"""What comes before any work: the import, and the start of the command."""

import os
import subprocess
import sys

import pytest
from sanitizers import SANITIZED


def cpu_s(statement: str) -> float:
    """CPU time of a fresh interpreter to the end of a statement, by its own clock: the kernel's moves by 10 ms."""
    asked = f"{statement}\nimport time; print(time.process_time())"
    command = [sys.executable, "-c", asked]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}  # compiled once, as what pip has installed
    return float(subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout)


@pytest.mark.skipif(SANITIZED, reason="other libraries than those that are felt")
def test_the_import_is_not_felt() -> None:
    # 40 ms where the interpreter itself takes 9 (README: under 50 ms); 1.7 times what modules of the standard library
    # that any such package takes cost, on whatever machine this is. In turns, and the least of several: other programs
    # of the machine can only add to it.
    turns = [(cpu_s("import dataclasses, json, threading, typing"), cpu_s("import joulemap")) for _ in range(9)]
    standard, ours = (min(times) for times in zip(*turns, strict=True))
    assert ours < 2.5 * standard


def test_the_command_starts_without_the_package() -> None:
    asked = "import runpy, sys; sys.argv[1:] = ['--version']\n"
    asked += "import os; os.execv = lambda *_: print(sorted(m for m in sys.modules if 'joulemap' in m))\n"
    asked += "from importlib.util import find_spec\n"
    asked += "runpy.run_path(find_spec('joulemap').submodule_search_locations[0] + '/_cli.py', run_name='__main__')\n"
    done = subprocess.run([sys.executable, "-c", asked], check=True, capture_output=True, text=True)
    assert done.stdout == "[]\n"
