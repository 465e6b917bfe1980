"""Hand over to the command written in C, which lies in the package; python/bin/joulemap runs this file alone."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # typing and pathlib take longer to import than most of what the command does
if TYPE_CHECKING:
    from pathlib import Path
    from typing import NoReturn


def native_folder() -> Path:
    """Folder with the command, libjoulemap.so, the injected library and the simulated board."""
    from pathlib import Path

    return Path(__file__).parent / "_native"


def main() -> NoReturn:
    """Replace this process by the command, and pass it this Python's path."""
    command = __file__[: __file__.rindex("/")] + "/_native/joulemap"
    os.environ["JOULEMAP_PYTHON"] = sys.executable
    try:
        os.execv(command, ["joulemap", *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"joulemap: {command}: {error.strerror}; install the package again")


if __name__ == "__main__":
    main()
