"""PowerDL's interface on joulemap's session and reports.

`profile_torch` and `profile_tf` measure; what they return tells of batches, epochs and phases. Beside them stand the
parts of the lower layer: `NvmlPowerReader`, `PowerRecorder`, `Sample`, `Mark`, `analysis`, `summary`,
`TorchRunConfig`, `PowerCallback`.
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
    if name == "PowerCallback":  # its base is Keras', which is imported when it is first asked for
        from joulemap.compat.powerdl.keras_callback import power_callback

        return power_callback()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
