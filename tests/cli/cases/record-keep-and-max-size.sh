# times and sizes as people write them
try() {
    joulemap record --sim h200 -o r.joulemap "$@" -- true
    echo "exit code $?"
}
try --keep 2x
try --keep 59s
try --max-size 5M
try --max-size big
[ ! -e r.joulemap ] || echo "a recording was left"
joulemap record --sim h200 -o r.joulemap --keep 1.5h --max-size 0.2GB -- true 2>/dev/null; echo "exit code $?"
