"""The monitor of Zeus: windows with their time and energy."""

from joulemap.compat.zeus.monitor.energy import Measurement, ZeusMonitor

__all__ = ["Measurement", "ZeusMonitor"]
