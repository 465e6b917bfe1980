# a board that is in the machine and in no total is told
JOULEMAP_SIM_FAULTS='nvmlDeviceGetHandleByIndex_v2=NO_PERMISSION#1' joulemap stat --no-cpu --sim h200,h200 -- sleep 0.3
