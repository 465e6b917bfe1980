"""The interface of Stefano De Feo's power-cap `profiler`, on joulemap's leases and its search for a cap.

The interface is the same, but ED2P is minimized, as its text says; caps stay in the GPU's range; the old cap is
restored, also after an error or kill -9; weights and optimizer are restored.
"""

from joulemap.compat.profiler.caps import reset_power_cap, set_power_cap
from joulemap.compat.profiler.search import power_cap_profiler

__all__ = ["power_cap_profiler", "reset_power_cap", "set_power_cap"]
