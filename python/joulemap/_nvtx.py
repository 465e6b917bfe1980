"""NVTX ranges of a session's own process: where its NVTX finds the library that records them."""

from __future__ import annotations

import os

_VARIABLE = "NVTX_INJECTION64_PATH"


class Injection:
    """The variable that every NVTX of this process reads at its first call, while a session runs.

    A library has an NVTX of its own. One that was called before finds no library, and stays silent.
    """

    def __init__(self, environment: list[str]) -> None:
        given = dict(entry.split("=", 1) for entry in environment)
        self._library = given.get(_VARIABLE)  # None: another tool's is there already, or a recorder's above us
        if self._library is not None:
            os.environ[_VARIABLE] = self._library

    def end(self) -> None:
        """Take it away: children of the program are not to load it without a run."""
        if self._library is not None and os.environ.get(_VARIABLE) == self._library:
            del os.environ[_VARIABLE]
