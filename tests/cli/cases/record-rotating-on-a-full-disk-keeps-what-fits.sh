# a disk that gets full while two parts are written: the second is given up, and all goes on in the first; a machine
# that is slow enough does not fill that one, too, before the end: then the part that could not be made is told
. "$SOURCE_DIR/tests/cli/recorded.sh"
mount_small 5m
joulemap record --sim h200 -o small/r.joulemap --rotate-size 1M -- sh -c '
    "$BUILD_DIR/tests/native_steps" 14 >/dev/null &
    while [ ! -e small/r.0002.joulemap ]; do sleep 0.1; done
    head -c 2500000 /dev/zero >small/ballast
    wait'
code=$?
ls small | grep -v truth
rm small/ballast
joulemap report small/r.0001.joulemap --by board --json >report.json || die "no report"
grep -q 'the next part could not be begun, so the recording goes on in this one: .*disk full' report.json || die "nothing tells of it: $(cat report.json)"
[ "$(query small/r.0001.joulemap "SELECT count(*) > 300 FROM readings_named WHERE sensor = 'power_ring'")" = 1 ] || die "readings are missing"
exit $code
