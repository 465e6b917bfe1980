"""joulemap: where every joule of a GPU program goes.

>>> import joulemap
>>> with joulemap.Session() as run:  # doctest: +SKIP
...     run.watch(model)
...     with run.phase("train"):
...         train(model)
>>> print(run.report().table(by="layer"))  # doctest: +SKIP

What functions return is in `joulemap.types`. Frameworks and tools have modules of their own: `joulemap.torch`, `jax`,
`keras`, `lightning`, `huggingface`, `accelerate`, `plots`, `sinks`, `caps`, `ncu`, `calibration`, `compat`.
"""

import importlib
import warnings
from typing import Any

from joulemap import types
from joulemap._core import Error, NoDeviceError, version
from joulemap._diff import diff
from joulemap._machine import boards, doctor
from joulemap._recording import Recording
from joulemap._repeatability import repeat, repeatability, sampling_sensitivity
from joulemap._schedule import schedule
from joulemap._serving import request
from joulemap._session import Session, current_session

__version__ = version()

__all__ = [
    "Error",
    "NoDeviceError",
    "Recording",
    "Session",
    "__version__",
    "boards",
    "current_session",
    "diff",
    "doctor",
    "repeat",
    "repeatability",
    "request",
    "sampling_sensitivity",
    "schedule",
    "types",
]

_MOVED = {"estimate": "estimate", "train_estimate": "train", "profile_with_ncu": "profile"}


def __getattr__(name: str) -> Any:
    """Give a function that moved to `joulemap.ncu`, under its old name."""
    if name not in _MOVED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warnings.warn(f"joulemap.{name} is joulemap.ncu.{_MOVED[name]} now", DeprecationWarning, stacklevel=2)
    return getattr(importlib.import_module("joulemap.ncu"), _MOVED[name])
