. "$SOURCE_DIR/tests/cli/small.sh"
joulemap report small.joulemap --by kernel
