"""A line on stderr that fills while something long goes on."""

from __future__ import annotations

import sys

_WIDTH = 40


class Bar:
    """Shows how far something is, if stderr is a terminal.

    Parameters
    ----------
    wanted : bool
        False: shows nothing.
    """

    def __init__(self, wanted: bool = True) -> None:
        self._wanted = wanted and sys.stderr.isatty()

    def show(self, what: str, share: float) -> None:
        """Show how far `what` is, 0 to 1."""
        if self._wanted:
            full = round(_WIDTH * min(1.0, share))
            print(f"\r{what:14.14} [{'#' * full}{' ' * (_WIDTH - full)}]", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        """Take the line away."""
        if self._wanted:
            print(f"\r{'':{_WIDTH + 18}}\r", end="", file=sys.stderr, flush=True)
