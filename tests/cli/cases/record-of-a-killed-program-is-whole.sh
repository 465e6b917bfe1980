# kill -9 of the program: all up to then is there, the exit code is a shell's
. "$SOURCE_DIR/tests/cli/recorded.sh"
joulemap record --sim h200 -o r.joulemap -- sh -c 'sleep 1.5; kill -9 $$'
code=$?
[ "$(query r.joulemap "SELECT count(*) >= 50 FROM readings_named WHERE sensor = 'power_ring' AND t_s > 0")" = 1 ] || die "readings are missing"
[ "$(query r.joulemap "SELECT value FROM meta WHERE key = 'child_signal'")" = 9 ] || die "the signal is not noted down"
[ "$(query r.joulemap "SELECT value FROM meta WHERE key = 'closed'")" = 1 ] || die "the file was not closed"
exit $code
