"""joulemap: where every joule of a GPU program goes.

>>> import joulemap
>>> with joulemap.Session() as run:  # doctest: +SKIP
...     run.watch(model)
...     with run.phase("train"):
...         train(model)
>>> print(run.report().table(by="layer"))  # doctest: +SKIP
"""

from joulemap._core import Error, NoDeviceError, version
from joulemap.diff import Diff, DiffRow, diff
from joulemap.estimate import Estimate, EstimatedKernel, estimate, profile_with_ncu, train_estimate
from joulemap.machine import Board, Finding, boards, doctor
from joulemap.model import Learnt, learn_model
from joulemap.recording import Recording
from joulemap.repeatability import (
    Repeatability,
    SamplingSensitivity,
    Thinned,
    repeat,
    repeatability,
    sampling_sensitivity,
)
from joulemap.report import Group, Quality, Report, RequestCost, Row, Sum, Totals
from joulemap.schedule import Action, TracingCost, schedule
from joulemap.scope import Scope
from joulemap.serving import Request, request
from joulemap.session import Session, current_session
from joulemap.timeline import Mark, Series, Span, Timeline
from joulemap.tree import Node

__version__ = version()

__all__ = [
    "Action",
    "Board",
    "Diff",
    "DiffRow",
    "Error",
    "Estimate",
    "EstimatedKernel",
    "Finding",
    "Group",
    "Learnt",
    "Mark",
    "NoDeviceError",
    "Node",
    "Quality",
    "Recording",
    "Repeatability",
    "Report",
    "Request",
    "RequestCost",
    "Row",
    "SamplingSensitivity",
    "Scope",
    "Series",
    "Session",
    "Span",
    "Sum",
    "Thinned",
    "Timeline",
    "Totals",
    "TracingCost",
    "__version__",
    "boards",
    "current_session",
    "diff",
    "doctor",
    "estimate",
    "learn_model",
    "profile_with_ncu",
    "repeat",
    "repeatability",
    "request",
    "sampling_sensitivity",
    "schedule",
    "train_estimate",
]
