"""`python -m joulemap.compat SCRIPT [ARG...]`: run an older tool's script unchanged."""

import runpy
import sys
from pathlib import Path

from joulemap.compat import MODULES, install

USAGE = f"""usage: python -m joulemap.compat SCRIPT [ARG...]
       python -m joulemap.compat -m MODULE [ARG...]
Run a script written for an older tool; these imports come from joulemap: {", ".join(MODULES)}"""


def main() -> None:
    """Run what the command line names, as `python` itself would."""
    arguments = sys.argv[1:]
    if not arguments or arguments[0] in ("-h", "--help") or arguments == ["-m"]:
        print(USAGE, file=sys.stdout if arguments[:1] in (["-h"], ["--help"]) else sys.stderr)
        sys.exit(0 if arguments[:1] in (["-h"], ["--help"]) else 2)
    install()
    if arguments[0] == "-m":
        sys.argv = arguments[1:]
        sys.path[0] = str(Path.cwd())
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        return
    script = Path(arguments[0])
    if not script.is_file():
        sys.exit(f"python -m joulemap.compat: {script}: no such file")
    sys.argv = arguments
    sys.path[0] = str(script.resolve().parent)
    runpy.run_path(str(script), run_name="__main__")


if __name__ == "__main__":
    main()
