"""Makes the old names importable in Python child processes of `python -m joulemap.compat`.

This folder is first in their PYTHONPATH, and JOULEMAP_COMPAT has the names. joulemap is imported only when one of the
names is.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import module_from_spec
from pathlib import Path
from typing import Any


class _LazyFinder:
    """Replaces itself by joulemap's finder when one of the names is imported."""

    def __init__(self, names: list[str]) -> None:
        self._names = names

    def find_spec(self, fullname: str, path: Any = None, _target: Any = None) -> ModuleSpec | None:
        """Return a spec for an old name; None for all other names."""
        if fullname not in self._names:
            return None
        sys.meta_path.remove(self)
        try:
            import_module("joulemap.compat").find(self._names)
        except ImportError:  # another Python, without joulemap: it may have a module of its own
            return None
        return sys.meta_path[0].find_spec(fullname, path)


def _run_hidden() -> None:
    """Run the sitecustomize that this one hides, if there is one."""
    own = Path(__file__).resolve().parent
    spec = PathFinder.find_spec("sitecustomize", [entry for entry in sys.path if Path(entry or ".").resolve() != own])
    if spec is not None and spec.loader is not None:
        module = sys.modules["sitecustomize"] = module_from_spec(spec)
        spec.loader.exec_module(module)


sys.meta_path.insert(0, _LazyFinder(os.environ.get("JOULEMAP_COMPAT", "").split()))
_run_hidden()
