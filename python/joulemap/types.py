"""Result types of joulemap's functions, for annotations and `isinstance`. Programs do not create them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from joulemap._diff import Diff, DiffRow
from joulemap._machine import Board, Finding
from joulemap._measure import Measure
from joulemap._repeatability import Repeatability
from joulemap._report import Group, Report, RequestCost, Stage, Sum
from joulemap._row_types import Quality, Row, Totals
from joulemap._sampling import SamplingSensitivity, Thinned
from joulemap._schedule import Action, TracingCost
from joulemap._scope import Scope
from joulemap._serving import Request
from joulemap._timeline import Mark, Series, Span, Timeline
from joulemap._tree import Node

if TYPE_CHECKING:
    from joulemap._isolation.result import IsolatedLayer, IsolatedLayers
    from joulemap.calibration.learning import Learnt
    from joulemap.caps.boards import CapBoard, LeaseInfo, Restored
    from joulemap.caps.leases import Lease
    from joulemap.caps.result import CapSearch, Figure95, Trial
    from joulemap.ncu import Estimate, EstimatedKernel
    from joulemap.sinks._sink import Sink

__all__ = [
    "Action",
    "Board",
    "CapBoard",
    "CapSearch",
    "Diff",
    "DiffRow",
    "Estimate",
    "EstimatedKernel",
    "Figure95",
    "Finding",
    "Group",
    "IsolatedLayer",
    "IsolatedLayers",
    "Learnt",
    "Lease",
    "LeaseInfo",
    "Mark",
    "Measure",
    "Node",
    "Quality",
    "Repeatability",
    "Report",
    "Request",
    "RequestCost",
    "Restored",
    "Row",
    "SamplingSensitivity",
    "Scope",
    "Series",
    "Sink",
    "Span",
    "Stage",
    "Sum",
    "Thinned",
    "Timeline",
    "Totals",
    "TracingCost",
    "Trial",
]

# Imported on first use: `import joulemap` would take half as long again.
_TOOLS = {
    "CapBoard": "joulemap.caps.boards",
    "CapSearch": "joulemap.caps.result",
    "Estimate": "joulemap.ncu",
    "EstimatedKernel": "joulemap.ncu",
    "Figure95": "joulemap.caps.result",
    "IsolatedLayer": "joulemap._isolation.result",
    "IsolatedLayers": "joulemap._isolation.result",
    "Learnt": "joulemap.calibration.learning",
    "Lease": "joulemap.caps.leases",
    "LeaseInfo": "joulemap.caps.boards",
    "Restored": "joulemap.caps.boards",
    "Sink": "joulemap.sinks._sink",
    "Trial": "joulemap.caps.result",
}


def __getattr__(name: str) -> Any:
    if name in _TOOLS:
        return getattr(import_module(_TOOLS[name]), name)
    raise AttributeError(f"module 'joulemap.types' has no attribute {name!r}")
