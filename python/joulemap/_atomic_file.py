"""Files that are written completely or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write(path: str, text: str) -> None:
    """Write a text as UTF-8 to a temporary file in the same folder, and rename it to `path`.

    What is no regular file (a pipe, /dev/stdout) is written directly.

    Raises
    ------
    OSError
        If it cannot be written.
    """
    target = Path(path).resolve()  # so that a link stays a link
    if target.exists() and not target.is_file():
        target.write_text(text, encoding="utf-8", newline="")
        return
    descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)  # the mode of an ordinary new file: mkstemp's is 0600
        temporary.replace(target)
    except BaseException:
        temporary.unlink()
        raise
