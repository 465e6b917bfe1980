"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write(path: str, text: str) -> None:
    """Write a text, as UTF-8, to a new file beside `path` and put that in its place; what was there stays until then.

    What is no regular file (a pipe, /dev/stdout) is written as it is.

    Raises
    ------
    OSError
        If it cannot be written.
    """
    target = Path(path).resolve()  # a link stays one
    if target.exists() and not target.is_file():
        target.write_text(text, encoding="utf-8", newline="")
        return
    number, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    beside = Path(name)
    try:
        with os.fdopen(number, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        mask = os.umask(0)
        os.umask(mask)
        beside.chmod(0o666 & ~mask)  # as any new file, not as a secret one
        beside.replace(target)
    except BaseException:
        beside.unlink()
        raise
