# a file of format 1 opens for good: the same rows, calls, busy times and totals as joulemap 0.1 reported
. "$SOURCE_DIR/tests/cli/recorded.sh"
. "$SOURCE_DIR/tests/cli/recordings-of-0-1.sh"
for name in live kernels small; do
    unpack $name
    [ "$(query $name.joulemap 'PRAGMA user_version')" = 1 ] || die "$name.joulemap is not of 0.1"
    cp $name.joulemap before
    reports_as_0_1 $name || die "$name.joulemap is read differently"
    cmp before $name.joulemap || die "a report changed $name.joulemap"
done
