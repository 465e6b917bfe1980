"""The interface of Stefano De Feo's power-cap `profiler`, on joulemap's leases and its search for a cap.

Differences in the figures, not in the interface: least is ED2P, as its text says; caps keep to the GPU's range; what
was found is put back, also after an error or kill -9; weights and optimizer are as before.
"""

from joulemap.compat.profiler.caps import reset_power_cap, set_power_cap
from joulemap.compat.profiler.search import power_cap_profiler

__all__ = ["power_cap_profiler", "reset_power_cap", "set_power_cap"]
