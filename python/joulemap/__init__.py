"""joulemap: where every joule of a GPU program goes.

>>> import joulemap
>>> with joulemap.Session(kernels=True) as run:  # doctest: +SKIP
...     run.watch(model)
...     with run.phase("train"):
...         train(model)
>>> print(run.report().table(by="layer"))  # doctest: +SKIP
"""

from joulemap._core import Error, NoDeviceError, version
from joulemap.machine import Board, Finding, boards, doctor
from joulemap.model import Learnt, learn_model
from joulemap.report import Quality, Report, Row, Sum, Totals
from joulemap.session import Recording, Scope, Session, current_session

__version__ = version()

__all__ = [
    "Board",
    "Error",
    "Finding",
    "Learnt",
    "NoDeviceError",
    "Quality",
    "Recording",
    "Report",
    "Row",
    "Scope",
    "Session",
    "Sum",
    "Totals",
    "__version__",
    "boards",
    "current_session",
    "doctor",
    "learn_model",
]
