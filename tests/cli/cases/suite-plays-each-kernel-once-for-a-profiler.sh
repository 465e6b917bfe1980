# without a recording; a driver that cannot start a profiler is told
joulemap-suite --sim h200 --seconds 3 --once >once && ls
cut -d' ' -f1,2 once
awk '$3 > 0' once | wc -l
JOULEMAP_SIM=h200 JOULEMAP_SIM_FAULTS=cuProfilerStart=DEVICE_UNAVAILABLE joulemap-suite --seconds 1 --once
echo "exit code $?"
