"""The GPU's own figures."""

from layer_power_profiler import GPUMonitor, LayerMetrics

monitor = GPUMonitor(device_index=0)
info = monitor.get_gpu_info()
assert set(info) >= {"name", "memory_total_gb", "memory_used_gb", "memory_free_gb"}
assert 10 < monitor.get_power() < 1500
metrics = LayerMetrics("fc", 0, 1.0, 2.0, 1000.0, 100.0, 120.0, 110.0, 110.0)
assert metrics.to_dict()["energy_j"] == 110.0
