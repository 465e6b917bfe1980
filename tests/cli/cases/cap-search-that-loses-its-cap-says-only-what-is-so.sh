export XDG_RUNTIME_DIR="$PWD" JOULEMAP_NVML="$BUILD_DIR/sim/libnvidia-ml.so.1" JOULEMAP_SIM=h200
work=$BUILD_DIR/tests/work/capped_work
still="processes that the command started still run"

# What was found cannot be put back, and joulemap's own process goes on trying for seconds: it is none of the
# command's.
JOULEMAP_SIM_FAULTS=lost@1500ms JOULEMAP_CAPS_DIR="$PWD/lost" \
    joulemap cap search --settle .05 --window .15 --no-cpu -o a.joulemap -- "$work" memory 100000 crash 55 >a.txt 2>a.err
echo "exit code $?"
grep -o "must still be put back: .*" a.err
grep -c "$still" a.err
joulemap record -o b.joulemap -- sh -c 'sleep 3 >/dev/null 2>&1 & sleep 0.3' 2>&1 | grep -o "$still"

# Somebody ends the lease in the midst of the second window: that one is not told.
joulemap cap search --settle .05 --window 2 --no-cpu -o c.joulemap -- "$work" memory 260 >c.txt 2>c.err &
until grep -qs "1 probe" c.err; do sleep .05; done
sleep .4
joulemap cap reset >r.txt 2>&1
wait $!
echo "exit code $?"
grep -oE "^joulemap cap: [0-9]+ probe|it was reset" c.err
