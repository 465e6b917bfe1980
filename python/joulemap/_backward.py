"""The labels of autograd nodes; `_core_backward.c` does the work."""

from __future__ import annotations

from typing import Any

from joulemap import _core


class Frame(_core.Frame):
    """One call of a watched module. Its methods are prehooks of autograd nodes.

    They are Python methods, so that compiled autograd sees one function for all calls, and compiles it once.
    """

    __slots__ = ()

    def backward(self, _gradients: Any) -> None:
        """Begin the backward of this call."""
        self.enter_backward()

    def outside(self, _gradients: Any) -> None:
        """Begin backward work of no module: the node was made before this outermost call."""
        self.leave_backward()
