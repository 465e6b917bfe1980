# the address on the browser's command line, which all users can read, is not the one with the token, and serves once
[ -x "$BUILD_DIR/joulemap-view" ] || { echo "skipped: built without joulemap-view"; exit 125; }
xz -dkc "$SOURCE_DIR/tests/data/recordings/small.joulemap.xz" >small.joulemap
mkdir bin
printf '#!/bin/sh\necho "$1" >opened.part\nmv opened.part opened\n' >bin/xdg-open
chmod +x bin/xdg-open
DISPLAY=:0 PATH="$PWD/bin:$PATH" joulemap view small.joulemap >address 2>refused &
server=$!
until [ -e opened ] || ! kill -0 $server 2>/dev/null; do sleep 0.05; done
if grep -q 'built without the page' refused; then echo "skipped: built without the page"; exit 125; fi
python3 - "$(head -n 1 address)" "$(cat opened)" <<'PYTHON'
import sys
import urllib.error
import urllib.request

address, once = sys.argv[1:]
print("the token is in it:", address.rstrip("/").rsplit("/", 1)[1] in once)
with urllib.request.urlopen(once) as answer:
    print("it leads to the page:", answer.url == address, answer.status)
try:
    urllib.request.urlopen(once)
except urllib.error.HTTPError as error:
    print("again:", error.code)
PYTHON
kill -INT $server
wait $server
