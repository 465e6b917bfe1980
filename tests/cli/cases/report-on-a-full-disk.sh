. "$SOURCE_DIR/tests/cli/small.sh"
joulemap report small.joulemap --json >/dev/full
