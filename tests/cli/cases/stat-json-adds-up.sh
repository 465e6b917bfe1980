# the boards of the object add up to its total
joulemap stat --json --sim h200,a100 -- sleep 1 > stat.json || exit 99
python3 - <<'PYTHON'
import json
stat = json.load(open("stat.json"))
assert stat["simulated"] is True and stat["exit_code"] == 0
assert 1.0 <= stat["duration_s"] < 1.5, stat["duration_s"]
assert [board["kind"] for board in stat["boards"]] == ["gpu", "gpu"]
assert abs(sum(board["energy_j"] for board in stat["boards"]) - stat["energy_j"]) < 1e-6 * stat["energy_j"]
assert stat["energy_low_j"] < stat["energy_j"] < stat["energy_high_j"]
PYTHON
