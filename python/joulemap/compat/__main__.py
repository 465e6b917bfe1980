"""`python -m joulemap.compat [OPTION]... SCRIPT [ARG...]`: run an older tool's script unchanged."""

import os
import runpy
import sys
from importlib.util import find_spec
from pathlib import Path

from joulemap import compat
from joulemap.compat import MODULES, install

USAGE = f"""usage: python -m joulemap.compat [OPTION]... SCRIPT [ARG...]
       python -m joulemap.compat [OPTION]... -m MODULE [ARG...]
Run a script written for an older tool; these imports come from joulemap: {", ".join(MODULES)}
  --keep NAME  not this one: the program has a module of its own by that name
  --seconds S  how long profile_all_layers or power_cap_profiler takes in all, about (60; 2.5 a layer at least)
Beside a simulated GPU (JOULEMAP_SIM=h200), what asks PyTorch for CUDA runs on the CPU."""


def _usage(status: int) -> None:
    print(USAGE, file=sys.stderr if status else sys.stdout)
    sys.exit(status)


def _seconds(text: str) -> float:
    """Parse the value of --seconds."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        sys.exit(f"python -m joulemap.compat: --seconds {text}: a number above 0")
    return seconds


def _take_options(arguments: list[str]) -> list[str]:
    """Remove the options from the arguments and apply them; return the names to keep."""
    keep = []
    while arguments and arguments[0].partition("=")[0] in ("--keep", "--seconds"):
        option, separator, value = arguments.pop(0).partition("=")
        if not separator and not arguments:
            _usage(2)
        value = value if separator else arguments.pop(0)
        if option == "--seconds":
            compat.isolation_s = _seconds(value)
            continue
        if value not in MODULES:
            sys.exit(f"python -m joulemap.compat: --keep {value}: one of {', '.join(MODULES)}")
        keep.append(value)
    return keep


def main() -> None:
    """Run a script or module, as `python` itself would."""
    arguments = sys.argv[1:]
    keep = _take_options(arguments)
    if arguments[:1] in (["-h"], ["--help"]):
        _usage(0)
    if not arguments or arguments == ["-m"]:
        _usage(2)
    if arguments[0] != "-m" and not Path(arguments[0]).is_file():
        sys.exit(f"python -m joulemap.compat: {arguments[0]}: no such file")
    install(keep)
    if os.environ.get("JOULEMAP_SIM") and find_spec("torch") is not None:
        from joulemap.compat import _cpu

        if _cpu.is_simulated():
            _cpu.install()
    if arguments[0] == "-m":
        sys.argv = arguments[1:]
        sys.path[0] = str(Path.cwd())
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        return
    script = Path(arguments[0])
    sys.argv = arguments
    sys.path[0] = str(script.resolve().parent)
    runpy.run_path(str(script), run_name="__main__")


if __name__ == "__main__":
    main()
