"""In Python processes that a program under `python -m joulemap.compat` starts: the old names are ours there, too.

This folder comes first in their PYTHONPATH, JOULEMAP_COMPAT has the names. Nothing of joulemap is imported before one
of them is.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import module_from_spec
from pathlib import Path
from typing import Any


class _UntilAsked:
    """Puts joulemap's own finder in its place as soon as one of the names is imported."""

    def __init__(self, names: list[str]) -> None:
        self._names = names

    def find_spec(self, fullname: str, path: Any = None, _target: Any = None) -> ModuleSpec | None:
        """Return where an old name is found; None for all other names."""
        if fullname not in self._names:
            return None
        sys.meta_path.remove(self)
        try:
            import_module("joulemap.compat").find(self._names)
        except ImportError:  # another Python, without joulemap: its own module, if it has one
            return None
        return sys.meta_path[0].find_spec(fullname, path)


def _go_on() -> None:
    """Run the sitecustomize that this one hides, if there is one."""
    here = Path(__file__).resolve().parent
    spec = PathFinder.find_spec("sitecustomize", [entry for entry in sys.path if Path(entry or ".").resolve() != here])
    if spec is not None and spec.loader is not None:
        module = sys.modules["sitecustomize"] = module_from_spec(spec)
        spec.loader.exec_module(module)


sys.meta_path.insert(0, _UntilAsked(os.environ.get("JOULEMAP_COMPAT", "").split()))
_go_on()
