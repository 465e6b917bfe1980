# a board that draws 500 W: that is what stat says, and the truth lies in its interval
echo "0,60,500,steady" > script.csv
export JOULEMAP_SIM_SCRIPT=script.csv JOULEMAP_SIM_SEED=1
joulemap stat --json --sim h200 -- sleep 2 > stat.json || exit 99
python3 - <<'PYTHON'
import json
stat = json.load(open("stat.json"))
assert stat["source"] == "energy_counter"
# counter against ring: 0.3 %; a tick known within 5 ms at each end of 2 s: 0.25 % each
assert abs(stat["power_w"] - 500) < 500 * 0.01, stat["power_w"]
assert stat["energy_low_j"] < 500 * stat["duration_s"] < stat["energy_high_j"], stat
PYTHON
