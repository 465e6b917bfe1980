# A recording, counters of its time, nothing else beside them; and the recording stays as it is
. "$SOURCE_DIR/tests/cli/small.sh"
cp small.joulemap before.joulemap
printf 'start_ns,end_ns,n\n0,1000000,7\n1000000,2000000,8\n500000,1500000,9\n' >counters.csv
printf 'start_ns,end_ns,n\n3600000000000,3600001000000,7\n' >late.csv
joulemap import --onto small.joulemap -o out.joulemap
joulemap import --counters counters.csv -o out.joulemap
joulemap import --onto small.joulemap --counters counters.csv --readings "$small/readings.csv" -o out.joulemap
joulemap import --onto none.joulemap --counters counters.csv -o out.joulemap
joulemap import --onto counters.csv --counters counters.csv -o out.joulemap
joulemap import --onto small.joulemap --counters counters.csv --force -o small.joulemap
joulemap import --onto small.joulemap --counters counters.csv --board 3 -o out.joulemap
joulemap import --onto small.joulemap --counters counters.csv -o out.joulemap
joulemap import --onto small.joulemap --counters late.csv -o out.joulemap
code=$?
ls out.joulemap* 2>/dev/null
cmp small.joulemap before.joulemap
exit $code
