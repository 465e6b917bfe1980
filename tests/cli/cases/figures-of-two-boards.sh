# two ranks on two H100: collectives and their waits, by layer, and all that a table tells
. "$SOURCE_DIR/tests/cli/figures.sh"
unpack pair
json report pair.joulemap
told report pair.joulemap --by kernel --notes
