# training and generating on an H100: every figure of the view by layer
. "$SOURCE_DIR/tests/cli/figures.sh"
unpack llama
json report llama.joulemap
