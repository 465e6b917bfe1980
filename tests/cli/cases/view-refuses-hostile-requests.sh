# the page's server: wrong tokens, hosts, origins, methods, paths, sizes, and a flood of connections; the page goes on
[ -x "$BUILD_DIR/joulemap-view" ] || { echo "skipped: built without joulemap-view"; exit 125; }
xz -dkc "$SOURCE_DIR/tests/data/recordings/small.joulemap.xz" >small.joulemap
joulemap view small.joulemap --no-browser >address 2>refused &
server=$!
until [ -s address ] || ! kill -0 $server 2>/dev/null; do sleep 0.05; done
if grep -q 'built without the page' refused; then echo "skipped: built without the page"; exit 125; fi
python3 "$SOURCE_DIR/tests/cli/hostile.py" "$(head -n 1 address)" 2>/dev/null
kill -INT $server
wait $server
