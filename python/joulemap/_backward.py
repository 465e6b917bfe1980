"""Calls of watched modules as autograd nodes are labelled with them: what they do is in `_core_backward.c`."""

from __future__ import annotations

from typing import Any

from joulemap import _core


class Frame(_core.Frame):
    """One call of a watched module. Its methods are prehooks of autograd nodes.

    They are Python's, so that compiled autograd takes those of all calls for one function, and compiles it once.
    """

    __slots__ = ()

    def backward(self, _gradients: Any) -> None:
        """From here on this call's backward runs."""
        self.enter_backward()

    def outside(self, _gradients: Any) -> None:
        """From here on no module's does: the node ran before this outermost call."""
        self.leave_backward()
