# a full disk: what was written stays, what is missing is counted, the code says so
. "$SOURCE_DIR/tests/cli/recorded.sh"
mount_small 1m
joulemap record --sim h200 -o small/r.joulemap -- sh -c 'sleep 2.5; for i in $(seq 50); do cat /dev/zero >>small/ballast; sleep 0.1; done 2>/dev/null'
code=$?
rm small/ballast
[ "$(query small/r.joulemap "SELECT count(*) > 40 FROM readings_named WHERE sensor = 'power_ring'")" = 1 ] || die "readings are missing"
joulemap report small/r.joulemap --by board --json | grep -q 'the recorder ended before it could close the file' || die "nothing tells of it"
exit $code
