# no file, no recording, a port in use, a package that was missing when joulemap was built
[ -x "$BUILD_DIR/joulemap-view" ] || { echo "skipped: built without joulemap-view"; exit 125; }
try() {
    echo "\$ joulemap $*" >&2
    joulemap "$@"
    echo "exit $?" >&2
}
echo "no recording" >text
try view nothing.joulemap
try view text
try view --port 70000 text
try view a b c
mkdir alone # as of a build without libmicrohttpd
cp "$BUILD_DIR/joulemap" "$BUILD_DIR/libjoulemap.so" alone
xz -dkc "$SOURCE_DIR/tests/data/recordings/small.joulemap.xz" >small.joulemap
PATH=/usr/bin:/bin alone/joulemap view small.joulemap
echo "exit $?" >&2
