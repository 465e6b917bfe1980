# each kind of wrong usage, and a process that is not there
try() {
    joulemap attach --sim h200 -o r.joulemap "$@"
    echo "exit code $?"
}
try
try 12x
try 0
try 1 2
try --seconds 0 1
true &
wait $!
try $! 2>&1 | sed "s/$!/PID/"
[ ! -e r.joulemap ] || echo "a recording was left"
