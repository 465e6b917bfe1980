"""NVTX ranges of a session's own process: the variable that names the library that records them."""

from __future__ import annotations

import os

_VARIABLE = "NVTX_INJECTION64_PATH"


class Injection:
    """Sets the variable while a session runs.

    Each library has its own copy of NVTX, which reads the variable at its first call. Copies that were called before
    the session stay silent.
    """

    def __init__(self, environment: list[str]) -> None:
        variables = dict(entry.split("=", 1) for entry in environment)
        self._library = variables.get(_VARIABLE)  # None if another tool or a recorder above us has set it
        if self._library is not None:
            os.environ[_VARIABLE] = self._library

    def end(self) -> None:
        """Unset the variable, so that children do not load the library without a run."""
        if self._library is not None and os.environ.get(_VARIABLE) == self._library:
            del os.environ[_VARIABLE]
