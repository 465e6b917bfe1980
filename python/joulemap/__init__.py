"""joulemap: where every joule of a GPU program goes.

>>> import joulemap
>>> with joulemap.measure() as m:  # doctest: +SKIP
...     train(model)
>>> print(m)  # doctest: +SKIP
12.34 ±0.21 J in 0.52 s, 23.7 W (GPU 0)
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
from typing import TYPE_CHECKING, Any

from joulemap._core import Error, NoDeviceError, version
from joulemap._measure import measure
from joulemap._session import Session, current_session

if TYPE_CHECKING:
    from joulemap import types
    from joulemap._diff import diff
    from joulemap._machine import boards, doctor
    from joulemap._recording import Recording
    from joulemap._repeatability import repeat, repeatability
    from joulemap._schedule import schedule
    from joulemap._serving import request

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
    "measure",
    "repeat",
    "repeatability",
    "request",
    "schedule",
    "types",
]

# Imported on first use: `import joulemap` would take half as long again.
_LATER = {
    "Recording": "_recording",
    "boards": "_machine",
    "diff": "_diff",
    "doctor": "_machine",
    "repeat": "_repeatability",
    "repeatability": "_repeatability",
    "request": "_serving",
    "schedule": "_schedule",
}
_MOVED = {"estimate": "estimate", "train_estimate": "train", "profile_with_ncu": "profile"}


def __getattr__(name: str) -> Any:
    """Give what is imported on first use; also a function that moved to `joulemap.ncu`, under its old name."""
    if name == "types":
        return importlib.import_module("joulemap.types")
    if name in _LATER:
        found = globals()[name] = getattr(importlib.import_module(f"joulemap.{_LATER[name]}"), name)
        return found
    if name not in _MOVED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warnings.warn(f"joulemap.{name} is joulemap.ncu.{_MOVED[name]} now", DeprecationWarning, stacklevel=2)
    return getattr(importlib.import_module("joulemap.ncu"), _MOVED[name])


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def load_ipython_extension(shell: Any) -> None:
    """Give a notebook `%joulemap` and `%%joulemap`; `%load_ext joulemap` calls it."""
    importlib.import_module("joulemap._notebook").load(shell)
