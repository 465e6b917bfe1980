# where the ring fails in mid-run, the counter and the board's other power sensors carry on: any 2 s are 800 J
printf 't_start_s,t_end_s,power_w\n0,1,600\n1,2,200\nrepeat,2\n' >script.csv
export JOULEMAP_SIM_SCRIPT=$PWD/script.csv JOULEMAP_SIM_FAULTS='nvmlDeviceGetSamples=UNKNOWN@1s'
joulemap stat --no-cpu --sim h200 --json -- sleep 2 >stat.json || exit
python3 -c '
import json
stat = json.load(open("stat.json"))
low_j, energy_j, high_j = (stat[key] for key in ("energy_low_j", "energy_j", "energy_high_j"))
true_j = 400 * stat["duration_s"]  # and as much as 200 J the more or less of it beyond whole periods
beyond_j = 200 * (stat["duration_s"] - 2)
assert low_j - beyond_j <= true_j <= high_j + beyond_j and high_j - low_j < 0.4 * energy_j, stat
assert any("power_ring" in note for note in stat["notes"]), stat["notes"]
assert not any("stand still" in note for note in stat["notes"]), stat["notes"]'
