# what is not there, and what is no recording: each its words and exit code
joulemap report nowhere.joulemap
echo "exit code $?"
echo hello >hello.txt
joulemap report hello.txt
echo "exit code $?"
. "$SOURCE_DIR/tests/cli/small.sh"
joulemap report small.joulemap --board 3
echo "exit code $?"
