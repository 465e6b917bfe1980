# `ulimit -f` does not kill the recorder: what fits stays and the cure is named; the command has its signal as ever
. "$SOURCE_DIR/tests/cli/recorded.sh"
ulimit -S -f 120
joulemap record --sim h200 -o r.joulemap -- sh -c 'exec 2>&-; cat /dev/zero >large; echo "the command: $?"; sleep 5'
code=$?
ulimit -S -f unlimited
[ "$(query r.joulemap "SELECT count(*) > 40 FROM readings_named WHERE sensor = 'power_ring'")" = 1 ] || die "readings are missing"
exit $code
