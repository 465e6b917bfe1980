# kill -9 of the recorder while two parts are written: what was committed is there, each second once
. "$SOURCE_DIR/tests/cli/recorded.sh"
joulemap record --sim h200 -o r.joulemap --rotate-size 1M -- "$BUILD_DIR/tests/native_steps" 12 >/dev/null 2>&1 &
recorder=$!
for _ in $(seq 100); do
    cut=$(query r.0001.joulemap "SELECT value FROM meta WHERE key = 'cut_ns'" 2>/dev/null) # once both are there
    [ -z "$cut" ] || break
    sleep 0.1
done
[ -n "$cut" ] || die "there is no second part"
now() { python3 -c 'import time; print(time.monotonic_ns())'; }
cp r.0001.joulemap r.0001.joulemap-wal r.0002.joulemap r.0002.joulemap-wal "$(mkdir before && echo before)"
while [ "$(now)" -lt $((cut + 2500000000)) ]; do sleep 0.1; done
{ kill -9 $recorder; wait $recorder; } 2>/dev/null # the shell tells of its end, at a time of its own
[ $? = 137 ] || die "the recorder was not killed"
for part in 1 2; do
    joulemap report r.000$part.joulemap --by phase --json >$part.json || die "part $part has no report"
done
grep -q 'the recorder ended before it could close the file' 2.json || die "nothing tells of the end"
python3 - "$cut" "$(query r.0001.joulemap "SELECT value FROM meta WHERE key = 'start_ns'")" <<'PYTHON' || die "a second is missing, or there twice"
import json, sqlite3, sys
cut, start = map(int, sys.argv[1:])
parts = [json.load(open(f"{part}.json")) for part in (1, 2)]
complete = [int(sqlite3.connect(f"r.000{part}.joulemap").execute("SELECT value FROM meta WHERE key = 'complete_ns'").fetchone()[0]) for part in (1, 2)]
assert abs(parts[0]["duration_s"] - (cut - start) / 1e9) < 1e-3, parts[0]["duration_s"]
assert abs(parts[1]["duration_s"] - (complete[1] - cut) / 1e9) < 1e-3, parts[1]["duration_s"]
assert complete[1] - cut > 1e9, complete
PYTHON
# as they were before the cut: all is in the first
cd before
joulemap report r.0001.joulemap --by board --json >/dev/null || die "the first has no report"
joulemap report r.0002.joulemap
