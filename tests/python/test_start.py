"""What comes before any work: the import, and the start of the command."""

import os
import subprocess
import sys


def cpu_s(*arguments: str) -> float:
    """CPU time of a fresh interpreter, the least of several: other programs of the machine can only add to it."""

    def once() -> float:
        before = os.times()
        subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
        after = os.times()
        return after.children_user - before.children_user + after.children_system - before.children_system

    return min(once() for _ in range(7))


def test_the_import_is_not_felt() -> None:
    # 40 ms where the interpreter itself takes 11 (README: under 50 ms). Twice what modules of the standard library
    # that any such package takes cost, on whatever machine this is.
    standard = cpu_s("-c", "import dataclasses, json, threading, typing")
    assert cpu_s("-c", "import joulemap") < 2.5 * standard


def test_the_command_starts_without_the_package() -> None:
    asked = "import runpy, sys; sys.argv[1:] = ['--version']\n"
    asked += "import os; os.execv = lambda *_: print(sorted(m for m in sys.modules if 'joulemap' in m))\n"
    asked += "from importlib.util import find_spec\n"
    asked += "runpy.run_path(find_spec('joulemap').submodule_search_locations[0] + '/_cli.py', run_name='__main__')\n"
    done = subprocess.run([sys.executable, "-c", asked], check=True, capture_output=True, text=True)
    assert done.stdout == "[]\n"
