# A generated run with its counters: imported, and the counters onto that; they lie where the kernels do
. "$SOURCE_DIR/tests/cli/recorded.sh"
"$BUILD_DIR/sim/joulemap-simulate" --out made --suite 3 --seconds 2 --counters --seed 5 || die "nothing was made"
joulemap import --board h200 --readings made/readings.csv --segments made/segments.csv --kernels made/kernels.csv -o run.joulemap || exit
joulemap import --onto run.joulemap --counters made/counters.csv -o counted.joulemap || exit
joulemap report run.joulemap --by phase --json >before.json || exit
joulemap report counted.joulemap --by phase --json >after.json || exit
cmp before.json after.json
query counted.joulemap "SELECT text FROM spans JOIN names ON names.id = name_id ORDER BY start_ns"
query counted.joulemap "SELECT sum(count) BETWEEN 7990 AND 8030 AND min(start_ns) = -1500000000 FROM counter_blocks"
query counted.joulemap "SELECT substr(metrics, 1, 25) || metric_count FROM counter_sets"
