# a board that dies in mid-run: the program goes on, what was measured before stays, the loss is told
. "$SOURCE_DIR/tests/cli/recorded.sh"
JOULEMAP_SIM_FAULTS='lost@+2s' joulemap record --sim h200 -o r.joulemap -- sh -c 'sleep 3; echo done' || die "code $?"
[ "$(query r.joulemap "SELECT count(*) FROM events WHERE kind = 'board_lost'")" = 1 ] || die "no event"
[ "$(query r.joulemap "SELECT max(t_s) > 1 FROM readings_named WHERE sensor = 'power_instant'")" = 1 ] || die "readings are missing"
joulemap report r.joulemap --by board --json > report.json
grep -q 'a board was lost' report.json || die "nothing tells of it"
# nobody saw the power after that: the total says so, and is not sure of it
grep -q 'are of time without readings' report.json || die "nothing tells of what is not known: $(cat report.json)"
python3 -c '
import json
report = json.load(open("report.json"))
half = (report["total_energy_high_j"] - report["total_energy_low_j"]) / 2
assert half > 0.05 * report["total_energy_j"], (half, report["total_energy_j"])' || die "the interval is that of a whole run"
