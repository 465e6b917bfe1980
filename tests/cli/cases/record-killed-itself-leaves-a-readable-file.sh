# kill -9 of the recorder: the program goes on unharmed, the file is readable up to the last second
. "$SOURCE_DIR/tests/cli/recorded.sh"
joulemap record --sim h200 -o r.joulemap -- sh -c 'sleep 4; echo unharmed > program' &
recorder=$! # the shell may tell of its end on stderr, at a time of its own
sleep 3
kill -9 $recorder
wait $recorder 2>/dev/null
[ $? = 137 ] || die "the recorder was not killed"
joulemap report r.joulemap --by board --json > report.json || die "no report"
# one second of the sensor's buffer, half a second of the commits, and the time it takes to start
[ "$(query r.joulemap "SELECT max(t_s) > 1.2 AND min(t_s) < 0.1 FROM readings_named WHERE sensor = 'power_ring'")" = 1 ] ||
    die "readings end at $(query r.joulemap "SELECT max(t_s) FROM readings_named WHERE sensor = 'power_ring'")"
grep -q 'the recorder ended before it could close the file: the first [1-3].[0-9] s are whole' report.json || die "nothing tells of it: $(cat report.json)"
[ "$(query r.joulemap "SELECT count(*) FROM meta WHERE key IN ('child_pid', 'child_start_ns')")" = 2 ] ||
    die "nothing tells which program was recorded"
for _ in $(seq 100); do [ ! -s program ] || break; sleep 0.1; done
[ "$(cat program)" = unharmed ] || die "the program did not go on"
