# a plugin that used the library is unloaded: what the library has in the process goes on, and the host ends well
host=$BUILD_DIR/tests/native_host
joulemap record --sim h200 -o r.joulemap -- "$host" "$BUILD_DIR/libjoulemap.so" 2>/dev/null
echo "exit code $?"
joulemap dormant -- "$host" "$BUILD_DIR/libjoulemap.so"
echo "exit code $?"
