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
