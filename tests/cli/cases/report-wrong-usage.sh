. "$SOURCE_DIR/tests/cli/small.sh"
try() {
    joulemap report "$@"
    local code=$?
    [ $code = 2 ] || echo "exit code $code"
}
try
try a b
try small.joulemap --by
try small.joulemap --by kernal
try small.joulemap --kernel
try small.joulemap --limit many
try small.joulemap --limit=-1
try small.joulemap --board 0x
try small.joulemap --html page.html --json
