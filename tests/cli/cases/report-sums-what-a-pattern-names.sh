# attention of all blocks is one figure: the sum of its rows, each with all below it once
. "$SOURCE_DIR/tests/cli/small.sh"
joulemap report small.joulemap --by kernel --sum '[ab]*'
joulemap report small.joulemap --by kernel --sum '*' --json | grep -c '"share": 1.0'
joulemap report small.joulemap --by kernel --sum delta
