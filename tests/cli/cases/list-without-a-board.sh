# no NVML: the exit code of "no device" and the way on
export JOULEMAP_NVML=/nowhere/libnvidia-ml.so.1
joulemap list --json | head -c 1 # a script gets its document all the same
joulemap list >boards
code=$?
# a machine with RAPL still lists its CPU
if grep -q '^CPU' boards; then
    echo "joulemap list: no GPU found, and no CPU whose energy can be read" >&2
    echo '  `joulemap doctor` shows why; `--sim h200` simulates a GPU' >&2
    code=69
fi
exit $code
