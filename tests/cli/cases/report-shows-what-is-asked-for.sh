# one kernel by name or by its number, and rows in an order of their own
. "$SOURCE_DIR/tests/cli/small.sh"
rows() { joulemap report small.joulemap "$@" | sed -n '/^kernel /,/^$/p' | awk 'NF { print $1, $2 }'; }
rows --kernel ALP
echo
rows --kernel '#2'
echo
rows --by kernel --sort name --depth 1
