# a recording is not overwritten unless --force is given
echo precious > r.joulemap
joulemap record --sim h200 -o r.joulemap -- touch started
code=$?
[ ! -e started ] && [ "$(cat r.joulemap)" = precious ] || exit 99
joulemap record --sim h200 -f -o r.joulemap -- touch started 2>/dev/null || exit 99
[ -e started ] || exit 99
exit $code
