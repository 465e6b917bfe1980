# For cases about recordings of 0.1 (tests/data/recordings, see make.sh there).
recordings=$SOURCE_DIR/tests/data/recordings
# unpack NAME: NAME.joulemap, as 0.1 left it.
unpack() {
    python3 -c 'import lzma, sys; sys.stdout.buffer.write(lzma.open(sys.argv[1]).read())' \
        "$recordings/$1.joulemap.xz" >"$1.joulemap"
}
# reports_as_0_1 NAME: every view of NAME.joulemap beside what 0.1 said.
reports_as_0_1() {
    local by
    for by in layer type kernel phase board; do
        joulemap report "$1.joulemap" --by $by --json >"$1.$by.json" || die "no report of $1 by $by"
    done
    python3 "$SOURCE_DIR/tests/cli/of-0-1.py" "$recordings/$1.reports.json.xz" "$1".{layer,type,kernel,phase,board}.json
}
