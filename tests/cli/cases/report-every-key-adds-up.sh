# whatever the rows stand for, no joule is lost and none counted twice; a parent holds its children
. "$SOURCE_DIR/tests/cli/small.sh"
for by in layer kernel type phase board span; do
    joulemap report small.joulemap --by $by --json >$by.json || exit
    joulemap report small.joulemap --by $by | grep -q "^Energy by $by$" || echo "no table: $by"
done
python3 - <<'PYTHON'
import json
import math

for by in "layer kernel type phase board span".split():
    report = json.load(open(f"{by}.json"))
    rows, total = report["rows"], report["total_energy_j"]
    assert report["by"] == by and len(rows) >= 2, by
    assert math.isclose(sum(row["energy_self_j"] for row in rows), total, rel_tol=1e-9), by
    for i, row in enumerate(rows):
        inside = row["energy_self_j"]
        for below in rows[i + 1 :]:
            if below["depth"] <= row["depth"]:
                break
            inside += below["energy_self_j"]
        assert math.isclose(inside, row["energy_j"], rel_tol=1e-9, abs_tol=1e-9 * total), (by, row["path"])
        assert math.isclose(row["share"], row["energy_j"] / total, rel_tol=1e-9, abs_tol=1e-12), (by, row["path"])
PYTHON
