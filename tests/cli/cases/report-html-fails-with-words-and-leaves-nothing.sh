. "$SOURCE_DIR/tests/cli/recorded.sh"
. "$SOURCE_DIR/tests/cli/small.sh"
. "$SOURCE_DIR/tests/cli/page.sh"
page_or_skip
try() {
    joulemap report small.joulemap "$@"
    echo $?
}
try --html /dev/full
try --html none/page.html
try --html .
try --html spans.html --by span
ls *.html*
