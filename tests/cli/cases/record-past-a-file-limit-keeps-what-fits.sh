# `ulimit -f` does not kill the recorder: what fits stays, readings before spans, and the cure is named; the command has
# its signal as ever
. "$SOURCE_DIR/tests/cli/recorded.sh"
cat >spans.py <<'PYTHON'
import ctypes
import sys
import time

lib = ctypes.CDLL(sys.argv[1])
lib.jm_span_begin.restype = ctypes.c_uint64
lib.jm_span_end.argtypes = [ctypes.c_uint64]
name = lib.jm_name_intern(b"layer")
for _ in range(300):
    for _ in range(100):
        lib.jm_span_end(lib.jm_span_begin(4, name, 0, 0))
    time.sleep(0.01)
PYTHON
# a library built with a sanitizer wants that loaded first; what Python itself leaks is not the matter here
preload=$(ldd "$BUILD_DIR/libjoulemap.so" | awk '/lib[at]san/ { print $3 }')
ulimit -S -f 140
joulemap record --sim h200 -o r.joulemap -- sh -c 'exec 2>&-; cat /dev/zero >large; echo "the command: $?"; LD_PRELOAD=$1 ASAN_OPTIONS=detect_leaks=0 python3 spans.py "$BUILD_DIR/libjoulemap.so"' sh "$preload"
code=$?
ulimit -S -f unlimited
[ "$(query r.joulemap "SELECT count(*) FROM readings_named WHERE sensor = 'power_ring'")" -gt 130 ] || die "readings are missing"
exit $code
