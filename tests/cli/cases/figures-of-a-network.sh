# an image network on an H100: every figure of the view by kernel
. "$SOURCE_DIR/tests/cli/figures.sh"
unpack cnn
json report cnn.joulemap --by kernel | grep -v " depth 1 "
