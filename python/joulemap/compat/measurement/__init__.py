"""The interface of Stefano De Feo's `measurement`, on joulemap's session and attribution.

The interface is the same; the figures differ: energies come from all readings of the sensor, corrected for its lag,
layers from attribution instead of timers, the CPU's energy from all packages and DRAM. Files begin with a header.
"""

from joulemap.compat.measurement.asynchronous import AsynchronousMeasurementTool
from joulemap.compat.measurement.energy import EnergyMeasurementTool
from joulemap.compat.measurement.layerwise import LayerwiseMeasurementTool

__all__ = ["AsynchronousMeasurementTool", "EnergyMeasurementTool", "LayerwiseMeasurementTool"]
