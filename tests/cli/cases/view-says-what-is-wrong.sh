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
xz -dkc "$SOURCE_DIR/tests/data/recordings/small.joulemap.xz" >small.joulemap
joulemap view small.joulemap --no-browser >address 2>refused &
server=$!
until [ -s address ] || ! kill -0 $server 2>/dev/null; do sleep 0.05; done
if grep -q 'built without the page' refused; then echo "skipped: built without the page"; exit 125; fi
port=$(sed -n '1s|^http://127.0.0.1:\([0-9]*\)/.*|\1|p' address)
joulemap view small.joulemap --port "$port" 2>&1 | sed "s/port $port/port PORT/" >&2
kill -INT $server
wait $server
mkdir alone # as of a build without libmicrohttpd
cp "$BUILD_DIR/joulemap" "$BUILD_DIR/libjoulemap.so" alone
PATH=/usr/bin:/bin alone/joulemap view small.joulemap
echo "exit $?" >&2
