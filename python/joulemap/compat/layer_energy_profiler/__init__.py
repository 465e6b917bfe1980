"""The interface of the energy_aware_quantization notebook's profiler, on `joulemap.torch.isolate`.

The interface is the same; the figures differ: each layer runs alone on its own inputs, in bursts with gaps, until its
energy is known precisely enough. No figure includes earlier layers, so percentages add up.
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
