# CSV and JSON hold the same rows; a file appears whole or not at all
. "$SOURCE_DIR/tests/cli/small.sh"
joulemap export small.joulemap --format csv --by kernel -o rows.csv || exit
joulemap export small.joulemap -f csv -b kernel | cmp - rows.csv || exit
joulemap export small.joulemap --format=json --by=kernel --output=rows.json || exit
joulemap report small.joulemap --by kernel --json | cmp - rows.json || exit
test "$(stat -c %a rows.csv)" = "$(touch new; stat -c %a new)" || echo "mode $(stat -c %a rows.csv)"
python3 - <<'PYTHON'
import csv
import json
import math

table = list(csv.DictReader(open("rows.csv", newline="")))
rows = json.load(open("rows.json"))["rows"]
assert len(table) == len(rows) >= 4
for line, row in zip(table, rows):
    for key, value in row.items():
        if isinstance(value, float):
            assert math.isclose(float(line[key]), value, rel_tol=1e-12), (key, line)
        else:
            assert line[key] == ("" if value is None else str(value)), (key, line)
PYTHON
joulemap export small.joulemap -f csv -o nowhere/rows.csv
echo "exit code $?"
echo precious >kept.csv
joulemap export small.joulemap -f csv --phase third -o kept.csv
echo "exit code $?"
cat kept.csv
ls
