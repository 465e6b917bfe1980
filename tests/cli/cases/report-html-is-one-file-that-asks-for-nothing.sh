. "$SOURCE_DIR/tests/cli/recorded.sh"
. "$SOURCE_DIR/tests/cli/small.sh"
. "$SOURCE_DIR/tests/cli/page.sh"
page_or_skip
ls *.html*
! grep -qE 'src=|href="http|@import|url\(' page.html || die "it names what lies elsewhere"
grep -o "default-src 'none'" page.html
data_of page.html | python3 -c '
import json, sys
page = json.load(sys.stdin)
run, = page["runs"]
rows = run["rows"]
total = run["summary"]["total_energy_j"]
assert abs(sum(rows["own_j"]) + rows["left_out"]["energy_j"] - total) < 1e-5 * total
assert abs(sum(rows["area_j"]) - total) < 1e-5 * total
print(run["name"], page["diff"], [what for what, _ in run["facts"]])'
joulemap report small.joulemap --html - | cmp - page.html
joulemap diff small.joulemap small.joulemap --html diff.html
data_of diff.html | python3 -c '
import json, sys
page = json.load(sys.stdin)
print(len(page["runs"]), page["diff"]["per"], page["diff"]["gpu"])'
