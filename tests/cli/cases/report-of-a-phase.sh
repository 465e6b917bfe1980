# a phase is a part of the whole; one that is not there is named
. "$SOURCE_DIR/tests/cli/small.sh"
joulemap report small.joulemap --by kernel --phase first | head -1
joulemap report small.joulemap --phase third
