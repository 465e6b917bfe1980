# half of a file is half of a recording, and the report says so
. "$SOURCE_DIR/tests/cli/recorded.sh"
joulemap record --sim h200 -o r.joulemap -- sleep 2 2>/dev/null
size=$(stat -c %s r.joulemap)
truncate -s $((size / 2)) r.joulemap
joulemap report r.joulemap --by board --json > report.json || die "no report"
grep -q "the file is cut short: $((size / 2)) of $size bytes are there" report.json || die "$(cat report.json)"
