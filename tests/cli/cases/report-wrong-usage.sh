. "$SOURCE_DIR/tests/cli/small.sh"
try() {
    joulemap report "$@"
    local code=$?
    [ $code = 2 ] || echo "exit code $code"
}
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
for view in --json --html=page.html --sum=alpha; do
    for option in --layer=a --kernel=a --sort=name --depth=1 --limit=3; do
        try small.joulemap "$view" "$option"
    done
done
try small.joulemap --html page.html --expand
try small.joulemap --html page.html --total
try small.joulemap --by time --depth 1
try small.joulemap --by time --json --limit 1
try small.joulemap --by time --sum a
! ls page.html 2>/dev/null
