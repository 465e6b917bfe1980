# a board that dies in mid-run: the program goes on, what was measured before stays, the loss is told
. "$SOURCE_DIR/tests/cli/recorded.sh"
JOULEMAP_SIM_FAULTS='lost@+2s' joulemap record --sim h200 -o r.joulemap -- sh -c 'sleep 3; echo done' || die "code $?"
[ "$(query r.joulemap "SELECT count(*) FROM events WHERE kind = 'board_lost'")" = 1 ] || die "no event"
[ "$(query r.joulemap "SELECT max(t_s) > 1 FROM readings_named WHERE sensor = 'power_instant'")" = 1 ] || die "readings are missing"
joulemap report r.joulemap --by board --json > report.json
grep -q 'a GPU was lost' report.json || die "nothing tells of it"
python3 - <<'PYTHON'
import json
report = json.load(open("report.json"))
# The board idles at 77 W; it was lost two seconds after it was opened, and up to a second of its ring with it.
covered_s = report["duration_s"]
assert 0.5 < covered_s < 2.3, covered_s
assert abs(report["total_energy_j"] / covered_s - 77) < 77 * 0.03, report
assert any("was lost for" in note for note in report["quality"]["notes"]), report["quality"]
PYTHON
