# lines on the way: each as long as asked for, together what the run took so far; JSON has an object a line
joulemap stat --no-cpu --sim h200 --interval 0.4 -- sleep 1.4
joulemap stat --no-cpu --sim h200 -i 0.4 --json -- sleep 1.4 >lines || exit
python3 - <<'PYTHON'
import json
*lines, whole = [json.loads(line) for line in open("lines")]
assert len(lines) == 3, lines
for number, line in enumerate(lines, 1):
    assert abs(line["until_s"] - 0.4 * number) < 1e-9 and line["interval_s"] == 0.4, line
    assert line["energy_low_j"] < line["energy_j"] < line["energy_high_j"], line
power_w = sum(line["energy_j"] for line in lines) / lines[-1]["until_s"]
assert abs(power_w - whole["power_w"]) < 0.05 * whole["power_w"], (lines, whole)
PYTHON
