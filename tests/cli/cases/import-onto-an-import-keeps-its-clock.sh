# A generated run with its counters: imported, and the counters onto that; they lie where the kernels do
. "$SOURCE_DIR/tests/cli/recorded.sh"
"$BUILD_DIR/sim/joulemap-simulate" --out made --suite 3 --seconds 2 --counters --seed 5 || die "nothing was made"
joulemap import --board h200 --readings made/readings.csv --segments made/segments.csv --kernels made/kernels.csv -o run.joulemap || exit
joulemap import --onto run.joulemap --counters made/counters.csv -o counted.joulemap || exit
joulemap report run.joulemap --by phase --model none --json >before.json || exit
joulemap report counted.joulemap --by phase --model none --json >after.json || exit
cmp before.json after.json
query counted.joulemap "SELECT name FROM spans_named WHERE kind = 'phase' ORDER BY start_s"
query counted.joulemap "SELECT count(DISTINCT name) FROM spans_named WHERE kind = 'window'"
query counted.joulemap "SELECT sum(count) BETWEEN 7990 AND 8030 AND min(start_ns) = -1500000000 FROM counter_blocks"
query counted.joulemap "SELECT substr(metrics, 1, 25) || metric_count FROM counter_sets"
# 60 bursts and more, and what was counted in them is there: work at rest counts nothing
python3 - <<'PYTHON'
import sqlite3, struct
db = sqlite3.connect("file:counted.joulemap?mode=ro", uri=True)
bursts = db.execute("SELECT start_ns, end_ns FROM spans WHERE parent_id IS NOT NULL ORDER BY start_ns").fetchall()
assert len(bursts) > 60
samples = []
for start_ns, count, data in db.execute("SELECT start_ns, count, data FROM counter_blocks ORDER BY start_ns"):
    for i in range(count):
        begin_ns, length_ns, first = struct.unpack_from("<QQd", data, i * 80)
        samples.append((start_ns + begin_ns, start_ns + begin_ns + length_ns, first))
for begin_ns, end_ns, value in samples:
    if begin_ns < 2_900_000_000:
        busy = any(start < end_ns and end > begin_ns for start, end in bursts)
        assert (value > 0) == busy, begin_ns
PYTHON
