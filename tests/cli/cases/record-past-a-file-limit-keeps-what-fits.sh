# `ulimit -f` does not kill the recorder: what fits stays, readings before spans, and the cure is named; the command has
# its signal as ever
. "$SOURCE_DIR/tests/cli/recorded.sh"
ulimit -S -f 140
joulemap record --sim h200 -o r.joulemap -- sh -c 'exec 2>&-; cat /dev/zero >large; echo "the command: $?"; exec "$BUILD_DIR/tests/native_steps" 3 >/dev/null'
code=$?
ulimit -S -f unlimited
[ "$(query r.joulemap "SELECT count(*) FROM readings_named WHERE sensor = 'power_ring'")" -gt 130 ] || die "readings are missing"
exit $code
