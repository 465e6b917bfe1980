# a counter that stops in mid-run is told and left out: the total is the ring's, some 77 W of an idle board
JOULEMAP_SIM_FAULTS='stuck@+1s-60s' joulemap record --sim h200 -o r.joulemap -- sleep 3 2>/dev/null || exit
joulemap report r.joulemap --by board --json > report.json || exit
grep -q 'it stands still; it is left out until that changes' report.json || { cat report.json; exit 1; }
python3 -c '
import json
report = json.load(open("report.json"))
power_w = report["total_energy_j"] / report["duration_s"]
assert report["total_source"] == "power_ring" and 70 < power_w < 85, (report["total_source"], power_w)'
