# a call that this NVML does not have costs one sensor, and doctor names both
export JOULEMAP_SIM_FAULTS="missing:nvmlDeviceGetSamples"
joulemap doctor --sim h200
