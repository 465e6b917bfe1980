try() {
    joulemap stat --no-cpu --sim h200 "$@" -- echo ran
    local code=$?
    [ $code = 2 ] || echo "exit code $code"
}
try --interval 0.01
try --interval 0
try --interval soon
try --interval 1 --repeat 2
try --repeat 0
