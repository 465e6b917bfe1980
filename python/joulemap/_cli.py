"""The console script `joulemap`: hands over to the command written in C, which lies in the package."""

import os
import sys
from pathlib import Path
from typing import NoReturn

from joulemap import _core


def native_folder() -> Path:
    """Folder with the command, libjoulemap.so, the injected library and the simulated board."""
    return Path(_core.__file__).parent / "_native"


def main() -> NoReturn:
    """Replace this process by the command, and tell it which Python it belongs to."""
    command = native_folder() / "joulemap"
    os.environ["JOULEMAP_PYTHON"] = sys.executable
    try:
        os.execv(command, ["joulemap", *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"joulemap: {command}: {error.strerror}; install the package again")


if __name__ == "__main__":
    main()
