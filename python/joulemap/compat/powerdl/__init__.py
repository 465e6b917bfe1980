"""PowerDL's interface on joulemap's session and reports.

`profile_torch` and `profile_tf` measure batches, epochs and phases. The lower layer has `NvmlPowerReader`,
`PowerRecorder`, `Sample`, `Mark`, `analysis`, `summary`, `TorchRunConfig` and `PowerCallback`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from joulemap.compat.powerdl import analysis, summary
from joulemap.compat.powerdl.highlevel import Report, profile_tf, profile_torch
from joulemap.compat.powerdl.recorder import NvmlPowerReader, PowerRecorder
from joulemap.compat.powerdl.samples import Mark, Sample
from joulemap.compat.powerdl.settings import TorchRunConfig

if TYPE_CHECKING:
    PowerCallback: Any

__all__ = [
    "Mark",
    "NvmlPowerReader",
    "PowerCallback",
    "PowerRecorder",
    "Report",
    "Sample",
    "TorchRunConfig",
    "analysis",
    "profile_tf",
    "profile_torch",
    "summary",
]


def __getattr__(name: str) -> Any:
    if name == "PowerCallback":  # its base class imports Keras
        from joulemap.compat.powerdl.keras_callback import power_callback

        return power_callback()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
