"""Older tools' interfaces on joulemap's figures.

`python -m joulemap.compat script.py args` runs a script written for one of them unchanged: its imports find
the modules of this package under their old names. New code can import them from here.
"""

from __future__ import annotations

import sys
from importlib import import_module

MODULES = (
    "layer_power_profiler",
    "powerdl",
    "powerdl.analysis",
    "powerdl.highlevel",
    "powerdl.highlevel_tf",
    "powerdl.highlevel_torch",
    "powerdl.recorder",
    "powerdl.summary",
)
"""Old names that can be imported."""


def install() -> None:
    """Make the modules importable under their old names, ahead of files of the same name."""
    for name in MODULES:
        sys.modules[name] = import_module(f"{__name__}.{name}")
