"""The interface of Stefano De Feo's `measurement`, on joulemap's session and attribution.

Differences in the figures, not in the interface: energies come from all of the sensor's readings with their lag known,
layers from attribution instead of timers, the CPU's from all packages and DRAM; files begin with a line of names.
"""

from joulemap.compat.measurement.asynchronous import AsynchronousMeasurementTool
from joulemap.compat.measurement.energy import EnergyMeasurementTool
from joulemap.compat.measurement.layerwise import LayerwiseMeasurementTool

__all__ = ["AsynchronousMeasurementTool", "EnergyMeasurementTool", "LayerwiseMeasurementTool"]
