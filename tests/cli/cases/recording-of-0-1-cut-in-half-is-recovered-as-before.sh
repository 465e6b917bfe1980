# what 0.1 saved of a damaged file of its own is saved today, row by row
. "$SOURCE_DIR/tests/cli/recorded.sh"
. "$SOURCE_DIR/tests/cli/recordings-of-0-1.sh"
unpack live
size=$(stat -c %s live.joulemap)
mv live.joulemap live-cut.joulemap
truncate -s $((size / 2)) live-cut.joulemap
reports_as_0_1 live-cut || die "another half of live.joulemap is found"
grep -q "the file is cut short: $((size / 2)) of $size bytes are there" live-cut.board.json || die "$(cat live-cut.board.json)"
