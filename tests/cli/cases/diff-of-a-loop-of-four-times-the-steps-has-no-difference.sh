# A program that starts for a second, does steps, and ends for half a second: with four times the steps a step takes the
# same, and the run more.
export JOULEMAP_SIM=h200 JOULEMAP_SIM_SEED=1
for run in short:0.2 long:0.8; do
    "$BUILD_DIR/tests/time/virtual-time" joulemap record --no-counters -o "${run%:*}.joulemap" -- \
        sh -c "sleep 1; $BUILD_DIR/tests/native_steps ${run#*:}; sleep 0.5" >>steps 2>/dev/null || exit
done
for per in step run; do
    joulemap diff --per $per short.joulemap long.joulemap | sed -n "s/^\($per\) .* % */\1: /p"
done
joulemap diff short.joulemap long.joulemap | head -n 1 | cut -d ' ' -f 1 # what is compared if nothing is asked for
joulemap report --json short.joulemap | python3 -c 'import json, sys
report = json.load(sys.stdin)
stages = report["stages"]
print([stage["name"] for stage in stages if stage["energy_j"] > 0.01 * report["total_energy_j"]])
print(abs(sum(stage["energy_j"] for stage in stages) / report["total_energy_j"] - 1) < 1e-12)
print([round(stage["seconds"], 1) for stage in stages if stage["seconds"] is not None and stage["seconds"] > 0.1])'
