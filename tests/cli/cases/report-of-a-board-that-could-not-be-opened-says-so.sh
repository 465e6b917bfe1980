# the same in a recording: its total, and its verdict, are of the others
JOULEMAP_SIM_FAULTS='nvmlDeviceGetHandleByIndex_v2=NO_PERMISSION#1' \
    joulemap record --sim h200,h200 -o r.joulemap -- sleep 0.3 2>/dev/null || exit
joulemap report r.joulemap --by board >report.txt || exit
grep -q 'the energy of 1 of the GPUs and CPUs is not known' report.txt || { cat report.txt; exit 1; }
tr -s ' \n' '  ' <report.txt | grep -q 'could not be opened, its energy is in no total: GPU 1:' || { cat report.txt; exit 1; }
