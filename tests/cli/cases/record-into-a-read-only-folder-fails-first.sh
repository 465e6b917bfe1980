# a read-only folder: said before the program is started
. "$SOURCE_DIR/tests/cli/recorded.sh"
mount_small 200k,ro
joulemap record --sim h200 -o small/r.joulemap -- touch started
code=$?
[ ! -e started ] || die "the program was started"
exit $code
