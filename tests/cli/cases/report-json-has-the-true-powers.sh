# powers within 2 %, rows that add up, the promised keys, and no figure that is not one
. "$SOURCE_DIR/tests/cli/small.sh"
joulemap report small.joulemap --by kernel --json >report.json || exit
python3 - <<'PYTHON'
import json
import math

def no_constant(name):
    raise SystemExit(f"{name} in the JSON")

report = json.load(open("report.json"), parse_constant=no_constant)
rows = {row["name"]: row for row in report["rows"]}
keys = "name path kind calls busy_s energy_j energy_low_j energy_high_j energy_self_j power_w share provenance boards"
for row in report["rows"]:
    for key in keys.split():
        assert key in row, (row["name"], key)
for name, power_w in {"alpha": 500, "beta": 300, "gamma": 200}.items():
    assert math.isclose(rows[name]["power_w"], power_w, rel_tol=0.02), rows[name]
    assert rows[name]["energy_low_j"] < rows[name]["energy_j"] < rows[name]["energy_high_j"]
total = sum(row["energy_self_j"] for row in report["rows"])
assert math.isclose(total, report["total_energy_j"], rel_tol=1e-9), total
keys = "total_energy_j idle_energy_j outside_energy_j closure quality overhead simulated residual_w by phase duration_s"
assert not [key for key in keys.split() if key not in report]
assert report["by"] == "kernel" and report["phase"] is None
assert 3 < report["residual_w"] < 5, report["residual_w"]  # the readings have 4 W of noise
PYTHON
