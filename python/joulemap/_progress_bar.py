"""A progress bar on stderr."""

from __future__ import annotations

import sys

_WIDTH = 40


class Bar:
    """A progress bar, if stderr is a terminal.

    Parameters
    ----------
    enabled : bool
        False: shows nothing.
    """

    def __init__(self, enabled: bool = True) -> None:
        self._enabled = enabled and sys.stderr.isatty()

    def show(self, what: str, share: float) -> None:
        """Show the progress of `what`, 0 to 1."""
        if self._enabled:
            full = round(_WIDTH * min(1.0, share))
            print(f"\r{what:14.14} [{'#' * full}{' ' * (_WIDTH - full)}]", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        """Clear the line."""
        if self._enabled:
            print(f"\r{'':{_WIDTH + 18}}\r", end="", file=sys.stderr, flush=True)
