# a library that is there and does not start: the reason is its own, not that one call is missing
JOULEMAP_SIM_FAULTS='nvmlInit_v2=DRIVER_NOT_LOADED' joulemap stat --sim h200 -- true
