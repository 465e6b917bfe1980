try() {
    joulemap-suite "$@"
    echo "exit code $?"
}
try
try --seconds x -o a
try --seed -1 -o a
try --nothing
try -o a b
try --help | head -n 3
try --list | sed -n '1p;$p'
ls
