"""Interfaces of older tools on joulemap's figures.

`python -m joulemap.compat script.py args` runs a script for one of them unchanged: its imports find the modules of this
package under their old names. New code can import them from here.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Container, Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

MODULES = (
    "gpu_profiler",
    "layer_energy_profiler",
    "layer_power_profiler",
    "measurement",
    "powerdl",
    "profiler",
    "zeus",
)
"""Old names that can be imported."""

isolation_s = 60.0
"""Total time to measure layers one by one, or eight power caps, seconds; the option `--seconds` of the runner."""


class _OldNames(MetaPathFinder, Loader):
    """Finds modules of this package and their submodules under their old names."""

    def __init__(self, names: Container[str]) -> None:
        self._names = names

    def find_spec(
        self, fullname: str, _path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return a spec for an old name; None for all other names."""
        return ModuleSpec(fullname, self) if fullname.partition(".")[0] in self._names else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the module itself, so that it is the same object under both names."""
        try:
            module = import_module(f"{__name__}.{spec.name}")
        except ModuleNotFoundError as error:
            if error.name != f"{__name__}.{spec.name}":
                raise
            tool = spec.name.partition(".")[0]
            cure = f"to import {tool} itself: python -m joulemap.compat --keep {tool}"
            raise ModuleNotFoundError(f"joulemap has no {spec.name}; {cure}", name=spec.name) from None
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Restore the module's own `__spec__`, which the import under the old name has replaced."""
        alias = module.__spec__
        if alias is not None and alias.loader is self:
            module.__spec__ = alias.loader_state


def find(names: Sequence[str]) -> None:
    """Make these modules importable under their old names, before files of the same name."""
    for name in names:
        sys.modules.pop(name, None)
    sys.meta_path.insert(0, _OldNames(names))


def install(keep: Container[str] = ()) -> None:
    """Make the modules importable under their old names, here and in Python child processes.

    Parameters
    ----------
    keep : list of str
        Names to leave alone, because the program has its own modules.
    """
    names = [name for name in MODULES if name not in keep]
    find(names)
    paths = [str(Path(__file__).parent / "children"), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    os.environ["JOULEMAP_COMPAT"] = " ".join(names)
