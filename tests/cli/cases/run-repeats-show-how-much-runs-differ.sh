# A program three times: the mean of a step and the spread between runs, for a diff of sets of runs. The first run that
# fails is the last.
export JOULEMAP_SIM=h200 JOULEMAP_SIM_SEED=1
mkdir .git
steps=$BUILD_DIR/tests/native_steps
shape() { sed -E 's/[0-9]+(\.[0-9]+)?/N/g; s/\b[um]?([Js])\b/\1/g'; }
joulemap run --repeat 3 "$steps" 0.4 >counts 2>runs || exit
wc -l <counts
sed -E 's|diff /.*/|diff |' runs | shape
ls .joulemap | shape | sort -u
joulemap run --repeat 2 -o long.joulemap "$steps" 1.6 >>counts 2>/dev/null || exit
joulemap diff .joulemap/*.joulemap -- long-0?.joulemap | grep -o 'the mean of [23] runs\|One run'
joulemap diff long-01.joulemap .joulemap/*-01.joulemap | grep -A 1 '^One run'
joulemap diff --json long-01.joulemap .joulemap/*-01.joulemap | python3 -c 'import json, sys
diff = json.load(sys.stdin)
print(diff["per"], diff["a"]["units"] > 2 * diff["b"]["units"])'
joulemap run --repeat 2 -o bad.joulemap false
echo "exit code $?"
joulemap run --repeat 1 true
echo "exit code $?"
