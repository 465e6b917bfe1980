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
try small.joulemap --kernels
try small.joulemap --kernel
try small.joulemap --kernel alpha --layer x
try small.joulemap --kernel 99
try small.joulemap --by kernel --layer delta
try small.joulemap --sort size
try small.joulemap --limit many
try small.joulemap --limit=-1
try small.joulemap --board 0x
try small.joulemap --html page.html --json
