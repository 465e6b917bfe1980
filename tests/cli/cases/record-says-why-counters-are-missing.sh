# once, in the report: somebody asked for what is not there
export JOULEMAP_CUDA=/nowhere/libcuda.so.1
joulemap record --sim h200 --counters -o with.joulemap -- sleep 1 2>/dev/null
joulemap record --sim h200 --no-counters -o without.joulemap -- sleep 1 2>/dev/null
for recording in with without; do
    joulemap export --format json "$recording.joulemap" | python3 -c '
import json, sys
document = json.load(sys.stdin)
print(document["quality"]["counters_missing"])
print(sum("hardware counters" in note for note in document["quality"]["notes"]))'
done
