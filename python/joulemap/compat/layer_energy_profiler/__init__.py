"""The interface of the energy_aware_quantization notebook's profiler, on `joulemap.torch.isolate`.

Differences in the figures, not in the interface: a layer runs alone, on what the model gives it, in bursts with gaps,
until its energy is known well enough; no figure holds the layers before it, so percentages add up.
"""

from joulemap.compat.layer_energy_profiler.pictures import visualize_layer_energy
from joulemap.compat.layer_energy_profiler.power_logger import PowerLogger
from joulemap.compat.layer_energy_profiler.precisions import PrecisionComparison, compare_precisions
from joulemap.compat.layer_energy_profiler.profiler import LayerEnergyProfiler

__all__ = [
    "LayerEnergyProfiler",
    "PowerLogger",
    "PrecisionComparison",
    "compare_precisions",
    "visualize_layer_energy",
]
