# 700 W at the wall for the ten seconds of the recording are 7 kJ in a row of their own, and the total stays the GPU's
. "$SOURCE_DIR/tests/cli/small.sh"
{
    echo t_s,power_w,meter
    for second in $(seq -60 60); do echo "$second,700,wall"; done
} >meter.csv
joulemap import --board h200 --readings "$small/readings.csv" --segments "$small/segments.csv" --meter meter.csv -o metered.joulemap || exit
for by in board kernel; do
    joulemap report small.joulemap --by $by --json >alone.$by.json || exit
    joulemap report metered.joulemap --by $by --json >metered.$by.json || exit
done
python3 - <<'PYTHON'
import json, math

for by in "board", "kernel":
    alone, metered = (json.load(open(f"{name}.{by}.json")) for name in ("alone", "metered"))
    assert metered["total_energy_j"] == alone["total_energy_j"], by
    rows = [row for row in metered["rows"] if row["kind"] != "meter"]
    assert [(row["path"], row["energy_j"]) for row in rows] == [(row["path"], row["energy_j"]) for row in alone["rows"]]
    meters = [row for row in metered["rows"] if row["kind"] == "meter"]
    assert len(meters) == (by == "board")
    for row in meters:
        assert row["name"] == "wall" and row["energy_self_j"] == 0
        assert math.isclose(row["energy_j"], 700 * metered["duration_s"], rel_tol=1e-9)
        assert row["energy_low_j"] < 7000 < row["energy_high_j"] < 7100, row
    assert any("wall measures what flows on into others" in note for note in metered["quality"]["notes"])
PYTHON
# a single reading tells no energy, and no other one is told in its place
printf 't_s,power_w\n30,200\n' >single.csv
joulemap import --meter single.csv -o single.joulemap || exit
joulemap report single.joulemap --by board --json >single.json || exit
python3 - <<'PYTHON'
import json

told = json.load(open("single.json"))
for place in told, *told["rows"]:
    for key in "total_energy_j", "energy_j", "energy_low_j", "energy_high_j":
        assert place.get(key) is None, (key, place)
PYTHON
