# what cannot be in parts is said before anything starts
try() {
    joulemap record --sim h200 -o r.joulemap "$@" -- touch started
    echo "exit code $?"
}
try --rotate 59s
try --rotate soon
try --rotate-size 900k
try --rotate 1h --keep-files 0
try --keep-files 3
try --rotate-size 20M --max-size 30M
[ -z "$(ls)" ] || echo "something is left: $(ls)"
